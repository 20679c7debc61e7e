// Launchers of device_arrays.cu's kernels. They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "workloads/module/element_type.h"

namespace warpmark::workloads {

struct ArrayView {
  const void* data;
  ElementType type;
};

/// Sums over elements; a block's partial result, and the total.
struct ErrorSums {
  double difference_squares;
  double reference_squares;
  double different;  ///< elements that differ
};

inline constexpr int kErrorBlocks = 1024;  ///< partial results that launch_error_sums writes before its total

struct FillRequest {
  void* to;
  ElementType type;
  std::int64_t count;
  std::uint64_t key;  ///< element i depends on key and i only
  bool whole;         ///< whole numbers in [-127, 127] instead of [-1, 1)
};

cudaError_t launch_fill_uniform(cudaStream_t stream, const FillRequest& request);
/// `sums` holds kErrorBlocks + 1 entries on the device; the total is the last.
cudaError_t launch_error_sums(cudaStream_t stream, ArrayView out, ArrayView reference, std::int64_t count,
                              ErrorSums* sums);
cudaError_t launch_convert(cudaStream_t stream, ArrayView from, void* to, ElementType to_type, std::int64_t count);

}  // namespace warpmark::workloads
