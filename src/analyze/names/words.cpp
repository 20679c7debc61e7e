#include "analyze/names/words.h"

#include "base/text.h"

namespace warpmark::analyze {

bool holds_any(std::string_view text, std::initializer_list<std::string_view> tokens) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [text](std::string_view token) { return text.find(token) != std::string_view::npos; });
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> tokens) {
  return holds_any(ascii_lower(text), tokens);
}

std::string_view first_sentence(std::string_view text) {
  text = text.substr(0, text.find(". "));
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace warpmark::analyze
