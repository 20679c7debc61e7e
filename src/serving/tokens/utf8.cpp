#include "serving/tokens/utf8.h"

#include <utf8proc.h>

#include <cstdlib>

#include "base/result.h"

namespace warpmark::serving {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// The code point at the beginning, or -1; `bytes` of it.
utf8proc_int32_t first_code_point(std::string_view text, std::size_t& bytes) {
  utf8proc_int32_t code = -1;
  const auto read = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &code);
  bytes = read > 0 ? static_cast<std::size_t>(read) : 1;
  return read > 0 ? code : -1;
}

}  // namespace

std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t bytes = 1;
  (void)first_code_point(text.substr(at), bytes);
  return bytes;
}

bool is_word_character(std::string_view character) {
  std::size_t bytes = 1;
  const auto code = first_code_point(character, bytes);
  if (code < 0) return false;
  const auto category = utf8proc_category(code);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) || category == UTF8PROC_CATEGORY_PC;
}

bool is_space(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return (character >= 9 && character <= 13) || character == 0x85 ||
         (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

bool is_space_character(std::string_view character) {
  std::size_t bytes = 1;
  const auto code = first_code_point(character, bytes);
  return code >= 0 && is_space(static_cast<char32_t>(code));
}

bool is_control(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_CC && category <= UTF8PROC_CATEGORY_CO;
}

bool is_mark(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character)) == UTF8PROC_CATEGORY_MN;
}

std::string normal_form(const std::string& text, std::string_view form) {
  int options = UTF8PROC_STABLE | (form.ends_with('C') ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
  if (form.starts_with("NFK")) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &made, static_cast<utf8proc_option_t>(options));
  WM_CHECK(size >= 0);
  std::string out(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);  // NOLINT: utf8proc allocates by malloc
  return out;
}

void append_character(char32_t character, std::string& out) {
  utf8proc_uint8_t bytes[4];
  out.append(reinterpret_cast<const char*>(bytes),
             static_cast<std::size_t>(utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes)));
}

std::string changed_characters(std::string_view text,
                               const std::function<void(char32_t character, std::string& out)>& change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0, bytes = 1; at < text.size(); at += bytes) {
    const auto code = first_code_point(text.substr(at), bytes);
    change(code < 0 ? kReplacement : static_cast<char32_t>(code), out);
  }
  return out;
}

std::string lower_characters(std::string_view text) {
  return changed_characters(text, [](char32_t character, std::string& out) {
    append_character(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))), out);
    // The only character with more than one in lower case whatever its neighbours are (SpecialCasing.txt).
    if (character == 0x130) append_character(0x307, out);
  });
}

std::vector<std::size_t> grapheme_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  utf8proc_int32_t before = -1, state = 0;
  for (std::size_t at = 0, bytes = 1; at < text.size(); at += bytes) {
    const auto code = first_code_point(text.substr(at), bytes);
    const auto character = code < 0 ? static_cast<utf8proc_int32_t>(kReplacement) : code;
    if (at > 0 && utf8proc_grapheme_break_stateful(before, character, &state)) ends.push_back(at);
    before = character;
  }
  if (!text.empty()) ends.push_back(text.size());
  return ends;
}

}  // namespace warpmark::serving
