// Pictures of a given size for vision models, made here: PNG of a few colors, stored without compression (RFC 1950,
// 1951: stored blocks), as a data: URL. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace warpmark::serving {

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
