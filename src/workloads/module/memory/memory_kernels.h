// Launchers of the bandwidth kernels (memory_kernels.cu) and of their checks. They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace warpmark::workloads {

struct MemoryArrays {
  float* out;          ///< b of copy, a of triad and write
  const float* in;     ///< a of copy and read, b of triad
  const float* more;   ///< c of triad
  std::int64_t count;  ///< elements of each
  float scalar;        ///< s of triad and write
};

cudaError_t launch_copy(cudaStream_t stream, const MemoryArrays& arrays);
cudaError_t launch_triad(cudaStream_t stream, const MemoryArrays& arrays);
cudaError_t launch_write(cudaStream_t stream, const MemoryArrays& arrays);

/// Blocks of launch_read, each of which writes one partial sum to `out`.
int read_blocks(std::int64_t count, int multiprocessors);
cudaError_t launch_read(cudaStream_t stream, const MemoryArrays& arrays, int blocks);

enum class MemoryCheck { copy, triad, write };

/// Adds to *mismatches the number of elements of `out` that differ from what the operation should have written.
cudaError_t launch_count_mismatches(cudaStream_t stream, MemoryCheck check, const MemoryArrays& arrays,
                                    unsigned long long* mismatches);
/// Adds the sum of `in` to *sum; exact for whole numbers. *sum is an integer.
cudaError_t launch_whole_sum(cudaStream_t stream, const float* in, std::int64_t count, long long* sum);

}  // namespace warpmark::workloads
