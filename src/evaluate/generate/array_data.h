// Pictures and embeddings made of nothing but a seed.
#pragma once

#include <cstdint>
#include <string>

#include "evaluate/generate/stream.h"

namespace warpmark::evaluate {

struct EmbeddingOptions {
  std::int64_t n = 10'000;
  std::int64_t width = 768;
  std::int64_t clusters = 0;  ///< centres that vectors lie around; 0: none
  double spread = 0.3;        ///< of a cluster, its centres having length 1
  std::uint64_t seed = 1;
};
/// A .npy file of n rows of float32 of length 1 (format version 1.0).
[[nodiscard]] Status generate_embeddings(const EmbeddingOptions& options, const Sink& sink);

struct PictureOptions {
  int width = 224;
  int height = 224;
  int quality = 90;  ///< of JPEG, 1 to 100
  std::uint64_t seed = 1;
};
/// Smooth gradients, a few shapes, and noise: what compresses like a photograph and not like a flat area. Three bytes a
/// pixel, row by row.
[[nodiscard]] std::string picture_pixels(const PictureOptions& options, std::int64_t number);
/// PNG (ISO 15948), 8 bits RGB, deflated.
[[nodiscard]] std::string png_of(const std::string& pixels, int width, int height);

}  // namespace warpmark::evaluate
