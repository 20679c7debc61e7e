// The text that a JSON string stands for, whatever state it is in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmark::profile {

enum TextFlaw : std::uint8_t {
  kCleanText = 0,
  kBadUtf8 = 1,           ///< replaced by U+FFFD
  kControlCharacter = 2,  ///< kept
  kBadEscape = 4,         ///< kept as it stands
};

struct DecodedText {
  std::string text;  ///< valid UTF-8
  std::uint8_t flaws = kCleanText;
};

/// `raw` is what stands between the quotes.
[[nodiscard]] DecodedText decode_json_text(std::string_view raw);

/// As a JSON string without its quotes; the reverse for valid UTF-8.
[[nodiscard]] std::string encode_json_text(std::string_view text);

/// The text with what is not UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string fix_utf8(std::string_view text);

/// Where skip_nested is within the text.
struct Nesting {
  int depth = 1;
  bool in_string = false;
};

/// Reads single characters from `p` up to `limit` (a little further if that is within an escape). Returns where it
/// stopped; `done` if that is behind the closing bracket, `broken` at a line break in a string.
inline const char* step(const char* p, const char* limit, Nesting& nesting, bool& done, bool& broken) {
  for (; p < limit; ++p) {
    const char c = *p;
    if (nesting.in_string) {
      if (c == '\\') ++p;
      if (c == '"') nesting.in_string = false;
      if (c == '\n') return broken = true, p;
    } else if (c == '"') {
      nesting.in_string = true;
    } else if (c == '[' || c == '{') {
      ++nesting.depth;
    } else if (c == ']' || c == '}') {
      if (--nesting.depth == 0) return done = true, p + 1;
    }
  }
  return p;
}

}  // namespace warpmark::profile
