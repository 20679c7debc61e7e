// Text as the reference implementations of the metrics see it: Python's strings. Code points, white space, lower case
// and the classes of characters are those of Unicode (by utf8proc) and not of the locale. Bytes that are no UTF-8
// become U+FFFD, one for each maximal part, as Python's errors="replace".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpmark::accuracy {

inline constexpr char32_t kReplacement = 0xFFFD;

/// Windows programs begin UTF-8 files with one.
[[nodiscard]] inline std::string_view without_byte_order_mark(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  return bytes;
}

[[nodiscard]] std::u32string code_points(std::string_view utf8);
void append_utf8(std::string& text, char32_t code_point);
[[nodiscard]] std::string to_utf8(std::u32string_view code_points);
[[nodiscard]] bool is_utf8(std::string_view bytes);
/// The same text with what is no UTF-8 replaced.
[[nodiscard]] std::string cleaned_utf8(std::string_view bytes);

[[nodiscard]] bool is_space(char32_t c);        ///< str.isspace
[[nodiscard]] bool is_punctuation(char32_t c);  ///< \p{P}
[[nodiscard]] bool is_symbol(char32_t c);       ///< \p{S}
[[nodiscard]] bool is_numeral(char32_t c);      ///< \p{N}
[[nodiscard]] bool is_word(char32_t c);         ///< \w: letters, numerals, the underscore

/// str.lower, with the capital sigma at the end of a word and the dotted capital I, which become other characters than
/// alone.
[[nodiscard]] std::string lower_case(std::string_view utf8);

/// str.split(): what stands between white space.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view utf8);
/// str.rstrip(), str.strip().
[[nodiscard]] std::string_view stripped_right(std::string_view utf8);
[[nodiscard]] std::string_view stripped(std::string_view utf8);
/// The words with one space between them.
[[nodiscard]] std::string single_spaced(std::string_view utf8);

/// One of string.punctuation: the 32 of ASCII.
[[nodiscard]] constexpr bool is_ascii_punctuation(unsigned char c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

}  // namespace warpmark::accuracy
