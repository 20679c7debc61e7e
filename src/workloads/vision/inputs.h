// Random inputs of the vision workloads, made on the host for the CPU and for the GPU: both are given the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/float_types.h"
#include "stats/random.h"

namespace warpmark::workloads::vision {

/// Relevance scores with many ties (64 levels in [-0.5, 0.5), zeros of both signs) and one NaN in 128 or so.
inline void fill_scores_with_ties(std::span<float> out, std::uint64_t seed) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t bits = stats::random_bits(seed, i);
    const float level = static_cast<float>(static_cast<int>(bits & 63U) - 32) / 64.0F;
    const bool negative_zero = level == 0.0F && ((bits >> 6) & 1U) != 0;
    const bool nan = ((bits >> 8) & 127U) == 0;
    out[i] = nan ? std::numeric_limits<float>::quiet_NaN() : negative_zero ? -0.0F : level;
  }
}

/// Features as raw storage of f32 or bf16 values, uniform in [-1, 1).
inline void fill_features(std::span<std::byte> out, std::int64_t element_bytes, std::uint64_t seed) {
  const std::span<float> floats(reinterpret_cast<float*>(out.data()), out.size() / sizeof(float));
  if (element_bytes == 4) return stats::fill_uniform(floats, seed, -1.0F, 1.0F);
  const std::span<std::uint16_t> halves(reinterpret_cast<std::uint16_t*>(out.data()),
                                        out.size() / sizeof(std::uint16_t));
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = float_to_bf16(static_cast<float>(2.0 * stats::random_unit(seed, i) - 1.0));
  }
}

/// Scores of different scale and offset a perspective, so that the standardization matters. Shape [batch, 3, n].
inline void fill_perspectives(std::span<float> out, std::size_t n, std::uint64_t seed) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto perspective = static_cast<float>((i / n) % 3);
    const double bell = stats::random_unit(seed, 2 * i) + stats::random_unit(seed, 2 * i + 1) - 1.0;
    out[i] = (1.0F + 2.0F * perspective) * static_cast<float>(bell) + perspective;
  }
}

}  // namespace warpmark::workloads::vision
