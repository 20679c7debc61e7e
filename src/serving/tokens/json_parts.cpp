#include "serving/tokens/json_parts.h"

#include "base/json.h"

namespace warpmark::serving {

std::string word_at(const Json& json, const char* key, const char* otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool truth_at(const Json& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

Result<TextPattern> pattern_at(const Json& json) {
  const auto found = json.find("pattern");
  if (found == json.end()) return data_error("a tokenizer's step has no pattern");
  if (found->is_string()) return TextPattern::literal(found->get<std::string>());
  if (found->is_object() && found->contains("Regex") && (*found)["Regex"].is_string()) {
    return TextPattern::of((*found)["Regex"].get<std::string>());
  }
  if (found->is_object() && found->contains("String") && (*found)["String"].is_string()) {
    return TextPattern::literal((*found)["String"].get<std::string>());
  }
  return data_error("a tokenizer's pattern is neither Regex nor String");
}

}  // namespace warpmark::serving
