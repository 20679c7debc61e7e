// Convolution on the CPU by oneDNN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "measure/workload.h"
#include "model/params.h"
#include "model/run.h"

namespace warpmark::workloads {

/// Arrays of a set: the input (or its gradient), the weights (or theirs), the output (or its gradient).
enum ConvArray : std::size_t { kConvInput, kConvWeights, kConvOutput };

[[nodiscard]] device::Support conv2d_supports_cpu(const DeviceInfo& device, const Params& params);
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> conv2d_prepare_cpu(const measure::PrepareOptions& options);

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

/// The three tensors in the shape's layout and dtype (f32 or bf16).
struct ConvTensors {
  std::span<const std::byte> input;
  std::span<const std::byte> weights;
  std::span<const std::byte> output;
};

/// Which of the tensors a pass writes.
[[nodiscard]] constexpr ConvArray conv_result(ConvPass pass) {
  if (pass == ConvPass::forward) return kConvOutput;
  return pass == ConvPass::backward_data ? kConvInput : kConvWeights;
}

/// Small shapes: every element. Larger ones: random elements one by one; random images (input channels for
/// backward_weights) whole, summed over the result's channels with random signs (the idea of Freivalds, 1977: it costs
/// as much as one channel and sees an error in any); and every other element must be finite.
[[nodiscard]] ErrorCheck check_conv2d(const ConvShape& shape, const ConvTensors& tensors, std::uint64_t seed);

}  // namespace warpmark::workloads
