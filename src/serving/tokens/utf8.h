// UTF-8 as tokenizers need it, by utf8proc. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark::serving {

/// How many bytes the character at `at` has; of what is no UTF-8 one.
[[nodiscard]] std::size_t character_bytes(std::string_view text, std::size_t at);
/// A letter, mark, numeral or underscore.
[[nodiscard]] bool is_word_character(std::string_view character);
[[nodiscard]] bool is_space_character(std::string_view character);
/// Unicode's normal forms: "NFC", "NFD", "NFKC", "NFKD". The text must be UTF-8.
[[nodiscard]] std::string normal_form(const std::string& text, std::string_view form);
/// Each character by itself.
[[nodiscard]] std::string lower_characters(std::string_view text);
/// What `change` appends for each character, U+FFFD for bytes that are no UTF-8.
[[nodiscard]] std::string changed_characters(std::string_view text,
                                             const std::function<void(char32_t character, std::string& out)>& change);
void append_character(char32_t character, std::string& out);
/// Of the category Other: control, format, surrogate, private use.
[[nodiscard]] bool is_control(char32_t character);
[[nodiscard]] bool is_space(char32_t character);
[[nodiscard]] bool is_mark(char32_t character);
[[nodiscard]] bool is_nonspacing_mark(char32_t character);
/// Where each user-perceived character ends (Unicode Standard Annex 29, extended grapheme clusters).
[[nodiscard]] std::vector<std::size_t> grapheme_ends(std::string_view text);

}  // namespace warpmark::serving
