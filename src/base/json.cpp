#include "base/json.h"

#include "base/text.h"
#include "base/untrusted/read_fields.h"

namespace warpmark {
namespace {

/// Whether brackets outside of strings are open more than kMostJsonLevels deep.
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
      if (++level > kMostJsonLevels) return true;
    } else if (!quoted && (c == ']' || c == '}') && level > 0) {
      --level;
    }
  }
  return false;
}

/// One of JSON's types, by nlohmann-json's name of it.
std::string a_value_of(std::string_view type) {
  if (type == "null") return "null";
  if (type == "array") return "a list";
  return (type == "object" ? "an " : "a ") + std::string(type);
}

/// What nlohmann-json says of a text, without its own names: "line 2, column 7: invalid literal; last read: 'x'".
std::string what_is_wrong(std::string_view what) {
  const std::string text = without_library_names(what);
  std::string_view said = text;
  constexpr std::string_view kAt = "parse error at ", kExpected = "; expected ", kWhile = ": syntax error while ";
  if (said.starts_with(kAt)) said.remove_prefix(kAt.size());
  const auto place = said.find(kWhile), cause = said.find(" - ");
  if (place == std::string_view::npos || cause == std::string_view::npos || cause < place) return std::string(said);
  const auto rest = said.substr(cause + 3);
  return std::string(said.substr(0, place)) + ": " + std::string(rest.substr(0, rest.rfind(kExpected)));
}

/// What it says of a field, in our words: "a number where a string is expected", "the field 'x' is missing".
std::string what_is_wrong_with_a_field(std::string_view what) {
  const std::string text = without_library_names(what);
  const std::string_view said = text;
  constexpr std::string_view kType = "type must be ", kIs = ", but is ", kUse = "cannot use ", kWith = " with ",
                             kKey = "key '", kNotFound = "' not found";
  if (const auto is = said.find(kIs); said.starts_with(kType) && is != std::string_view::npos) {
    const auto wanted = said.substr(kType.size(), is - kType.size());
    return a_value_of(said.substr(is + kIs.size())) + " where " + a_value_of(wanted) + " is expected";
  }
  if (const auto with = said.rfind(kWith); said.starts_with(kUse) && with != std::string_view::npos) {
    return a_value_of(said.substr(with + kWith.size())) + " where an object or a list is expected";
  }
  if (said.starts_with(kKey) && said.ends_with(kNotFound)) {
    return "the field '" + std::string(said.substr(kKey.size(), said.size() - kKey.size() - kNotFound.size())) +
           "' is missing";
  }
  return what_is_wrong(what);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name) {
  if (too_deep(text)) {
    return data_error(std::string(name) + " is nested more than " + std::to_string(kMostJsonLevels) + " levels deep",
                      "no tool writes such JSON: is the file damaged?");
  }
  if (trim(text).empty()) return data_error(std::string(name) + " is empty, where JSON is expected");
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& exception) {
    return data_error(std::string(name) + " is not valid JSON: " + what_is_wrong(exception.what()));
  }
}

std::string without_library_names(std::string_view said) {
  const auto id = said.find("] ");
  return std::string(said.starts_with("[json.exception") && id != std::string_view::npos ? said.substr(id + 2) : said);
}

Error wrong_fields(std::string_view name, const nlohmann::json::exception& exception) {
  return data_error(
      std::string(name) + " does not have the fields it should: " + what_is_wrong_with_a_field(exception.what()),
      kWrongFieldsHint);
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warpmark
