// What multiplies matrices on a GPU, told by its name and its compute capability: whether there are units for it, which
// types they take, and how much faster they are than products in FP32.
#pragma once

#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// Shares are of the time of an FP32 product that is bound by computing, 0..1.
struct MatrixUnits {
  bool any = true;         ///< tensor cores (NVIDIA), matrix cores (AMD)
  bool take_fp32 = false;  ///< FP32 runs on them, too
  bool take_bf16 = true;   ///< else FP16 alone
  float left_in_tf32 = 1;  ///< 1 without TF32
  float left_in_16_bits = 1;
  [[nodiscard]] bool take_tf32() const { return left_in_tf32 < 1; }
};

/// Of the GPU with that index, else of the first in the recording; those of an H100 where none is named.
[[nodiscard]] MatrixUnits matrix_units_of(const Timeline& timeline, int device);
[[nodiscard]] MatrixUnits matrix_units_of(const GpuInfo& gpu);

}  // namespace warpmark::analyze
