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

}  // namespace warpmark::profile
