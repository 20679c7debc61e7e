// Tensor maps: how the Hopper kernel's copies see a [matrices, sequence, dim] array of 16-bit elements.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "base/result.h"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads {

struct TensorMapOptions {
  const void* data;  ///< at least 16-byte aligned
  AttentionType type;
  std::int64_t dimension, sequence, matrices;
  int box_rows;
};

/// Boxes of box_rows rows and 64 columns in the 128-byte swizzle; rows beyond the sequence read as zero. Environment
/// error if the driver does not know tensor maps or refuses this one.
[[nodiscard]] Result<CUtensorMap> make_tensor_map(const TensorMapOptions& options);

}  // namespace warpmark::workloads
