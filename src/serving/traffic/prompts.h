// What prompts hold: words and pictures. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warpmark::serving {

/// `words` words; the same seed gives the same text.
[[nodiscard]] std::string words_text(std::int64_t words, std::uint64_t seed);

/// What a server counts for prompts of our words: tokens = fixed + per_word x words. The fixed part is the chat
/// template.
struct TokenFit {
  double fixed = 0;
  double per_word = 1;
  bool measured = false;
  double template_tokens = 0;  ///< told for a short prompt beyond those of its words, by our own tokenizer
  /// Words of a prompt with that many tokens, at least 1.
  [[nodiscard]] std::int64_t words_for(std::int64_t tokens) const;
};

struct TokenProbe {
  double words = 0;
  double tokens = 0;
};

/// Least squares. At least two probes of different lengths; else the fit that was not measured.
[[nodiscard]] TokenFit fit_tokens(std::span<const TokenProbe> probes);

/// Eight digits that stand at the beginning of a conversation and are overwritten each time one begins, so that none
/// finds its own prompt in the server's prefix cache.
inline constexpr std::string_view kSerialMark = "90000000";
/// Where it stands in a body; npos if nowhere.
[[nodiscard]] std::size_t find_serial(std::string_view body);
/// Overwrites it with eight digits that are another number for each `serial` below 10^8.
void write_serial(std::string& body, std::size_t at, std::uint64_t serial);

// Pictures of a given size for vision models, made here: PNG of a few colors, stored without compression (RFC 1950,
// 1951: stored blocks), as a data: URL. Pure.

struct ImageSpec {
  int width = 0;
  int height = 0;
  std::uint64_t seed = 1;
};

/// The bytes of a PNG, 8 bits of grey: about width x height bytes.
[[nodiscard]] std::string png_image(const ImageSpec& spec);
/// "data:image/png;base64,...".
[[nodiscard]] std::string image_url(const ImageSpec& spec);

}  // namespace warpmark::serving
