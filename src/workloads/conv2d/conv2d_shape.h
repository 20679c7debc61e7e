// The shape of a 2D convolution, and what follows from it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/params.h"

namespace warpmark::workloads {

enum class ConvPass { forward, backward_data, backward_weights };

struct ConvShape {
  std::int64_t n = 0;  ///< images
  std::int64_t c = 0;  ///< input channels
  std::int64_t h = 0;
  std::int64_t w = 0;
  std::int64_t k = 0;  ///< output channels
  std::int64_t r = 0;  ///< kernel height and width
  std::int64_t stride = 0;
  std::int64_t pad = 0;        ///< zeros on each side
  std::int64_t p = 0;          ///< output height
  std::int64_t q = 0;          ///< output width
  bool channels_last = false;  ///< activations NHWC and weights KRRC; else NCHW and KCRR
  ConvPass pass = ConvPass::forward;
  std::string dtype;

  [[nodiscard]] std::int64_t input_elements() const { return n * c * h * w; }
  [[nodiscard]] std::int64_t weight_elements() const { return k * c * r * r; }
  [[nodiscard]] std::int64_t output_elements() const { return n * k * p * q; }
};

/// Usage error that names the numbers: a size below 1, a kernel larger than the padded image, padding as wide as the
/// kernel, or tensors above 2^62 bytes.
[[nodiscard]] Result<ConvShape> conv_shape(const Params& params);

}  // namespace warpmark::workloads
