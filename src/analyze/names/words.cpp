#include "analyze/names/words.h"

namespace warpmark::analyze {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

bool holds_any(std::string_view text, std::initializer_list<std::string_view> tokens) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [text](std::string_view token) { return text.find(token) != std::string_view::npos; });
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> tokens) {
  return holds_any(lower_case(text), tokens);
}

}  // namespace warpmark::analyze
