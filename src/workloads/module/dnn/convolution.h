// A 2-D convolution as warpmark's `conv2d` means it, and the launcher of its reference.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "workloads/module/array_kernels.h"

namespace warpmark::workloads::dnn {

enum class Pass { forward, backward_data, backward_weights };

/// x [n, c, h, w] * weights [k, c, r, r] -> y [n, k, y_h, y_w], cross-correlation with zero padding.
struct Convolution {
  std::int64_t n, c, h, w, k, r, stride, pad;
  bool channels_last;  ///< memory order: images and weights as [.., h, w, channel]

  [[nodiscard]] constexpr std::int64_t y_h() const { return (h + 2 * pad - r) / stride + 1; }
  [[nodiscard]] constexpr std::int64_t y_w() const { return (w + 2 * pad - r) / stride + 1; }
  [[nodiscard]] constexpr std::array<std::int64_t, 4> x_dimensions() const { return {n, c, h, w}; }
  [[nodiscard]] constexpr std::array<std::int64_t, 4> weights_dimensions() const { return {k, c, r, r}; }
  [[nodiscard]] constexpr std::array<std::int64_t, 4> y_dimensions() const { return {n, k, y_h(), y_w()}; }
  /// Strides in elements of a tensor whose logical order is [image, channel, height, width].
  [[nodiscard]] constexpr std::array<std::int64_t, 4> strides(const std::array<std::int64_t, 4>& d) const {
    if (channels_last) return {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
    return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
  }
};

constexpr std::int64_t elements(const std::array<std::int64_t, 4>& dimensions) {
  return dimensions[0] * dimensions[1] * dimensions[2] * dimensions[3];
}

/// Outputs to compare: all of them in memory order, or `samples` random ones.
struct ConvolutionCheck {
  Convolution convolution;
  Pass pass;
  ElementType type;
  const void* x;
  const void* weights;
  const void* y;
  double* actual;    ///< [samples] the output under test, widened
  double* expected;  ///< [samples] the same output from the definition in fp64
  std::int64_t samples;
  std::int64_t outputs;  ///< samples == outputs compares every output once
  std::uint64_t seed;    ///< of the choice
};

/// The output under test is y (forward), x (backward_data) or weights (backward_weights); the other two are inputs.
cudaError_t launch_convolution_check(const ConvolutionCheck& check, cudaStream_t stream);

}  // namespace warpmark::workloads::dnn
