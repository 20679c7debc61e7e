#include "accuracy/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace warpmark::accuracy {
namespace {

constexpr bool is_ascii_space(unsigned char c) { return (c >= 9 && c <= 13) || (c >= 28 && c <= 32); }

/// White space of ASCII, and what may begin another one. By a table, as each byte of a corpus is asked.
constexpr auto kMayBeSpace = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = c >= 0xC2 || is_ascii_space(static_cast<unsigned char>(c));
  return table;
}();

/// One code point and the bytes it takes. A byte sequence that is none is cut after its longest valid beginning, as the
/// Unicode standard recommends (chapter 3.9, table 3-7) and Python does.
struct Decoded {
  char32_t code_point = kReplacement;
  std::size_t bytes = 1;
  bool valid = false;
};

Decoded decode_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  // The second byte's range keeps out overlong forms, surrogates and what is above U+10FFFF.
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  char32_t code_point = first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size()) return {kReplacement, i, false};
    const unsigned char next = byte(i);
    if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xBF)) return {kReplacement, i, false};
    code_point = (code_point << 6) | (next & 0x3FU);
  }
  return {code_point, length, true};
}

/// Bytes to pass over: all of a white space, of another character one or more.
struct Character {
  std::size_t bytes = 1;
  bool is_space = false;
};

Character character_at(std::string_view utf8, std::size_t at) {
  const auto byte = static_cast<unsigned char>(utf8[at]);
  if (!kMayBeSpace[byte]) return {};
  if (byte < 0xC2) return {1, true};
  const Decoded next = decode_at(utf8, at);
  return {next.bytes, next.valid && is_space(next.code_point)};
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool in_categories(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= first && category <= last;
}

bool is_cased(char32_t c) {
  const auto as_int = static_cast<utf8proc_int32_t>(c);
  return utf8proc_tolower(as_int) != as_int || utf8proc_toupper(as_int) != as_int ||
         in_categories(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT);
}

/// Characters that Unicode's rule of the final sigma looks past: marks, format characters, modifiers, apostrophes.
bool is_case_ignorable(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CF ||
      category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_SK) {
    return true;
  }
  constexpr char32_t kMarks[] = {U'\'',  U'.',   U':',   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  return std::find(std::begin(kMarks), std::end(kMarks), c) != std::end(kMarks);
}

bool is_final_sigma(std::u32string_view text, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

}  // namespace

std::u32string code_points(std::string_view utf8) {
  std::u32string result;
  result.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const Decoded next = decode_at(utf8, at);
    result.push_back(next.code_point);
    at += next.bytes;
  }
  return result;
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string to_utf8(std::u32string_view code_points) {
  std::string text;
  text.reserve(code_points.size());
  for (const char32_t c : code_points) append_utf8(text, c);
  return text;
}

bool is_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const Decoded next = decode_at(bytes, at);
    if (!next.valid) return false;
    at += next.bytes;
  }
  return true;
}

std::string cleaned_utf8(std::string_view bytes) {
  return is_utf8(bytes) ? std::string(bytes) : to_utf8(code_points(bytes));
}

bool is_space(char32_t c) {
  if (c < 0x80) return is_ascii_space(static_cast<unsigned char>(c));
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(char32_t c) { return in_categories(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
bool is_symbol(char32_t c) { return in_categories(c, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }
bool is_numeral(char32_t c) { return in_categories(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  return in_categories(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO) || is_numeral(c);
}

std::string lower_case(std::string_view utf8) {
  std::string text(utf8);
  if (is_ascii(utf8)) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return text;
  }
  constexpr char32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2, kDottedI = 0x130;
  const std::u32string points = code_points(utf8);
  text.clear();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i] == kCapitalSigma && is_final_sigma(points, i)) {
      append_utf8(text, kFinalSigma);
    } else if (points[i] == kDottedI) {
      text += "i\xCC\x87";  // i and the combining dot
    } else {
      append_utf8(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(points[i]))));
    }
  }
  return text;
}

std::vector<std::string_view> words_of(std::string_view utf8) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > begin) words.push_back(utf8.substr(begin, end - begin));
  };
  for (std::size_t at = 0; at < utf8.size();) {
    const Character next = character_at(utf8, at);
    if (next.is_space) {
      end_word(at);
      begin = at + next.bytes;
    }
    at += next.bytes;
  }
  end_word(utf8.size());
  return words;
}

std::string_view stripped_right(std::string_view utf8) {
  while (!utf8.empty() && is_ascii_space(static_cast<unsigned char>(utf8.back()))) utf8.remove_suffix(1);
  if (utf8.empty() || static_cast<unsigned char>(utf8.back()) < 0x80) return utf8;
  const auto words = words_of(utf8);
  if (words.empty()) return utf8.substr(0, 0);
  return utf8.substr(0, static_cast<std::size_t>(words.back().data() - utf8.data()) + words.back().size());
}

std::string_view stripped(std::string_view utf8) {
  const auto words = words_of(utf8);
  if (words.empty()) return utf8.substr(0, 0);
  const auto begin = static_cast<std::size_t>(words.front().data() - utf8.data());
  const auto end = static_cast<std::size_t>(words.back().data() - utf8.data()) + words.back().size();
  return utf8.substr(begin, end - begin);
}

std::string single_spaced(std::string_view utf8) {
  std::string text(utf8.size(), ' ');
  char* out = text.data();
  bool apart = false;  // white space since the last word
  for (std::size_t at = 0; at < utf8.size();) {
    const Character next = character_at(utf8, at);
    if (next.is_space) {
      apart = out != text.data();
      at += next.bytes;
      continue;
    }
    out += apart ? 1 : 0;
    apart = false;
    for (std::size_t left = next.bytes; left > 0; --left) *out++ = utf8[at++];
  }
  text.resize(static_cast<std::size_t>(out - text.data()));
  return text;
}

}  // namespace warpmark::accuracy
