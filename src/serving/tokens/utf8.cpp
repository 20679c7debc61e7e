#include "serving/tokens/utf8.h"

#include <utf8proc.h>

#include <cstdlib>

#include "base/check.h"

namespace warpmark::serving {
namespace {

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

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0, bytes = 1; at < text.size(); at += bytes) {
    const bool valid = first_code_point(text.substr(at), bytes) >= 0;
    out += valid ? text.substr(at, bytes) : std::string_view("\xEF\xBF\xBD");
  }
  return out;
}

bool is_word_character(std::string_view character) {
  std::size_t bytes = 1;
  const auto code = first_code_point(character, bytes);
  if (code < 0) return false;
  const auto category = utf8proc_category(code);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) || category == UTF8PROC_CATEGORY_PC;
}

bool is_space_character(std::string_view character) {
  std::size_t bytes = 1;
  const auto code = first_code_point(character, bytes);
  if (code < 0) return false;
  const auto category = utf8proc_category(code);
  return (code >= 9 && code <= 13) || code == 0x85 ||
         (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
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

std::string lower_characters(std::string_view text) {
  std::string out;
  for (std::size_t at = 0, bytes = 1; at < text.size(); at += bytes) {
    const auto code = first_code_point(text.substr(at), bytes);
    utf8proc_uint8_t lower[4];
    out.append(reinterpret_cast<const char*>(lower),
               static_cast<std::size_t>(utf8proc_encode_char(utf8proc_tolower(code < 0 ? 0xFFFD : code), lower)));
  }
  return out;
}

}  // namespace warpmark::serving
