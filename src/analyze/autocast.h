// What computing in 16 bits leaves in FP32.
#pragma once

#include "analyze/work_list.h"

namespace warpmark::analyze {

/// Share of their bytes that kernels on FP32 which multiply nothing still move, 0..1. Autocast runs normalisations,
/// softmax and losses in FP32 and casts to and from them, but batch norm follows the convolution before it (PyTorch,
/// "Automatic Mixed Precision package", op lists): only convolutional networks move their other bytes in 16 bits. XLA
/// has no autocast: where all products that tell their type are in FP32, what they read and write is, too, and follows
/// them; where all are in FP64, so is all else (then the share that FP32 leaves).
[[nodiscard]] float bytes_left_in_16_bits(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
