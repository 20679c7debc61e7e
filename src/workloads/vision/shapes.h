// Shapes of the vision workloads, read from their resolved parameters. Shared by the CPU and the GPU implementations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/params.h"

namespace warpmark::workloads::vision {

/// Images [n, 3, h, w] in, [n, 5, h, w] out.
struct TextureShape {
  std::int64_t n = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;
  bool fused = true;
  [[nodiscard]] std::size_t plane() const { return static_cast<std::size_t>(h * w); }
  [[nodiscard]] std::size_t pixels() const { return static_cast<std::size_t>(n) * plane(); }
};
inline constexpr std::size_t kTextureInputs = 3;
inline constexpr std::size_t kTextureOutputs = 5;

/// Texture [batch, 5, side, side] in, scores [batch, 3, n] out; patches are 16 x 16 pixels.
struct ScoreShape {
  std::int64_t batch = 0;
  std::int64_t side = 0;
  [[nodiscard]] std::size_t plane() const { return static_cast<std::size_t>(side * side); }
  [[nodiscard]] std::size_t pixels() const { return static_cast<std::size_t>(batch) * plane(); }
  [[nodiscard]] std::size_t row_of_patches() const { return static_cast<std::size_t>(side / kPatchSide); }
  [[nodiscard]] std::size_t n() const { return row_of_patches() * row_of_patches(); }
  static constexpr std::int64_t kPatchSide = 16;
};

/// Scores [batch, n] and features [batch, n, d] in; indices [batch, k] and features [batch, k, d] out.
struct PatchShape {
  std::int64_t batch = 0;
  std::int64_t n = 0;
  std::int64_t d = 0;
  std::int64_t k = 0;
  std::int64_t element_bytes = 4;  ///< of one feature
  [[nodiscard]] std::size_t scores() const { return static_cast<std::size_t>(batch * n); }
  [[nodiscard]] std::size_t indices() const { return static_cast<std::size_t>(batch * k); }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(d * element_bytes); }
};

/// Scores [batch, 3, n] in; relevance and tokens [batch, n] out.
struct BalanceShape {
  std::int64_t batch = 0;
  std::int64_t n = 0;
  std::int64_t budget = 0;  ///< tokens an image
  [[nodiscard]] std::size_t patches() const { return static_cast<std::size_t>(batch * n); }
};

[[nodiscard]] inline TextureShape texture_shape(const Params& params) {
  return {.n = params.integer("n"),
          .h = params.integer("h"),
          .w = params.integer("w"),
          .fused = params.text("impl") == "fused"};
}

[[nodiscard]] inline ScoreShape score_shape(const Params& params) {
  return {.batch = params.integer("batch"), .side = params.integer("side")};
}

[[nodiscard]] inline PatchShape patch_shape(const Params& params) {
  return {.batch = params.integer("batch"),
          .n = params.integer("n"),
          .d = params.integer("d"),
          .k = params.integer("k"),
          .element_bytes = params.text("dtype") == "bf16" ? 2 : 4};
}

[[nodiscard]] inline BalanceShape balance_shape(const Params& params) {
  return {.batch = params.integer("batch"), .n = params.integer("n"), .budget = params.integer("budget")};
}

}  // namespace warpmark::workloads::vision
