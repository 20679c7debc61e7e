#include "base/json.h"

namespace warpmark {
namespace {

/// Copying and writing a document recurse once a level.
constexpr std::size_t kMostLevels = 1000;

/// Whether brackets outside of strings are open more than kMostLevels deep.
bool too_deep(std::string_view text) {
  std::size_t level = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++level > kMostLevels) return true;
    } else if (!quoted && (c == ']' || c == '}') && level > 0) {
      --level;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name) {
  if (too_deep(text)) {
    return data_error(std::string(name) + " is nested more than " + std::to_string(kMostLevels) + " levels deep",
                      "no tool writes such JSON: is the file damaged?");
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& exception) {
    return data_error(std::string(name) + " is not valid JSON: " + exception.what());
  }
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warpmark
