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

bool holds_word(std::string_view text, std::initializer_list<std::string_view> words) {
  const auto is_part = [](char c) {
    return c == '_' || is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
  };
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, is_part);
    const auto length = static_cast<std::size_t>(end - text.begin());
    if (std::ranges::find(words, text.substr(0, length)) != words.end()) return true;
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return false;
}

std::string_view first_sentence(std::string_view text) {
  text = text.substr(0, text.find(". "));
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace warpmark::analyze
