#include "base/json.h"

namespace warpmark {

Result<Json> parse_json(std::string_view text, std::string_view name) {
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
