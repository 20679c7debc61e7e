#include "profile/readers/text/json_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace warpmark::profile {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (code != std::errc() || rest != text.data() + 4) return std::nullopt;
  return value;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto byte = [&](std::uint32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xC0 | point >> 6);
    byte(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    byte(0xE0 | point >> 12);
    byte(0x80 | (point >> 6 & 0x3F));
    byte(0x80 | (point & 0x3F));
  } else {
    byte(0xF0 | point >> 18);
    byte(0x80 | (point >> 12 & 0x3F));
    byte(0x80 | (point >> 6 & 0x3F));
    byte(0x80 | (point & 0x3F));
  }
}

/// Bytes of the valid UTF-8 sequence at the start of `text`, or 0 (RFC 3629: no overlong forms, no surrogates).
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    if (first == 0xE0 && at(1) < 0xA0) return 0;
    if (first == 0xED && at(1) >= 0xA0) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    if (first == 0xF0 && at(1) < 0x90) return 0;
    if (first == 0xF4 && at(1) >= 0x90) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

/// After "\u": appends the character; returns how many characters of `raw` that took, 0 if they are no escape.
std::size_t append_unicode_escape(std::string_view raw, DecodedText& result) {
  const auto high = hex4(raw);
  if (!high) return 0;
  if (*high >= 0xD800 && *high < 0xDC00 && raw.size() >= 10 && raw[4] == '\\' && raw[5] == 'u') {
    const auto low = hex4(raw.substr(6));
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      append_utf8(result.text, 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
      return 10;
    }
  }
  if (*high >= 0xD800 && *high < 0xE000) {
    result.text += kReplacement;
    result.flaws |= kBadEscape;
  } else {
    append_utf8(result.text, *high);
  }
  return 4;
}

/// At a backslash; returns how many characters it took.
std::size_t append_escape(std::string_view raw, DecodedText& result) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = raw.size() > 1 ? raw[1] : '\0';
  if (letter == 'u') {
    if (const std::size_t used = append_unicode_escape(raw.substr(2), result); used > 0) return used + 2;
  } else if (const auto i = kLetters.find(letter); i != std::string_view::npos && letter != '\0') {
    result.text += kMeanings[i];
    return 2;
  }
  result.text += '\\';
  result.flaws |= kBadEscape;
  return 1;
}

}  // namespace

DecodedText decode_json_text(std::string_view raw) {
  DecodedText result;
  const auto is_plain = [](char c) { return c >= 0x20 && c != '\\'; };  // bytes above 0x7F are negative
  if (std::all_of(raw.begin(), raw.end(), is_plain)) return {std::string(raw)};
  while (!raw.empty()) {
    std::size_t used = 1;
    if (raw[0] == '\\') {
      used = append_escape(raw, result);
    } else if (const std::size_t length = utf8_length(raw); length > 0) {
      if (static_cast<unsigned char>(raw[0]) < 0x20) result.flaws |= kControlCharacter;
      result.text += raw.substr(0, length);
      used = length;
    } else {
      result.text += kReplacement;
      result.flaws |= kBadUtf8;
    }
    raw.remove_prefix(used);
  }
  return result;
}

std::string encode_json_text(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += "\\u00";
      result += kHex[static_cast<unsigned char>(c) >> 4];
      result += kHex[static_cast<unsigned char>(c) & 0xF];
    } else {
      result += c;
    }
  }
  return result;
}

std::string fix_utf8(std::string_view text) { return decode_json_text(encode_json_text(text)).text; }

}  // namespace warpmark::profile
