// What computing in 16 bits leaves in FP32.
#pragma once

#include <string_view>

#include "analyze/recorded/work_list.h"

namespace warpmark::analyze {

/// Share of their bytes that kernels on FP32 which multiply nothing still move, 0..1. Autocast runs normalisations,
/// softmax and losses in FP32 and casts to and from them, but batch norm follows the convolution before it (PyTorch,
/// "Automatic Mixed Precision package", op lists): only convolutional networks move their other bytes in 16 bits. XLA
/// has no autocast: where all products that tell their type are in FP32, what they read and write is, too, and follows
/// them; where all are in FP64, so is all else (then the share that FP32 leaves).
[[nodiscard]] float bytes_left_in_16_bits(const Timeline& timeline, const WorkList& list);

/// What of its time is left to a kernel that multiplies no matrices: half of doubles, `narrower` of singles, less of a
/// fused attention kernel on them; all in 16 bits, and of an optimizer, whose state stays.
[[nodiscard]] float left_when_narrow(std::string_view kernel_name, Category category, float narrower);

/// Kernels of PyTorch are there, attention, softmax or normalisation among them: a product with one vector in FP32
/// reads weights. Of a solver's matrix nothing is said.
[[nodiscard]] bool runs_a_network(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
