// Launchers of exact_kernels.cu: exact values written and checked where they stand. They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "collectives/calls/engine.h"

namespace warpmark::collectives {

struct FillWork {
  void* to = nullptr;
  DataType type = DataType::f32;
  std::int64_t count = 0;
  ExactInput input;
  std::uint64_t salt = 0;
  int rank = 0;
};
cudaError_t launch_fill_exact(cudaStream_t stream, const FillWork& work);

/// Adds the number of wrong elements to *wrong, in device memory.
cudaError_t launch_count_wrong(cudaStream_t stream, const void* data, DataType type, std::int64_t count,
                               const Expected& expected, unsigned long long* wrong);

}  // namespace warpmark::collectives
