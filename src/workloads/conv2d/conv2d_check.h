// Is the result of a convolution right? In fp64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/run.h"
#include "workloads/conv2d/conv2d_cpu.h"
#include "workloads/conv2d/conv2d_shape.h"

namespace warpmark::workloads {

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
