// Launchers of the kernels of embedding_cache (embedding_cache_kernels.cu). They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "workloads/feeding/row_cache.h"
#include "workloads/module/feeding/embedding_kernels.h"

namespace warpmark::workloads {

struct CachedTables {
  const void* host;     ///< all rows, page-locked memory of the host
  void* held;           ///< the slots, in GPU memory
  std::int32_t* slots;  ///< of each row, or kAbsent
  std::int64_t row_bytes;
};

/// sums[b] = sum over i of the rows numbers[b, i], each from its slot, or over the link where it has none.
cudaError_t launch_cached_sums(cudaStream_t stream, const CachedTables& tables, const std::int32_t* numbers,
                               const BagSums& bags);

/// The same in fp64 from the host's memory alone, into `right` (bags x dim).
cudaError_t launch_uncached_reference(cudaStream_t stream, const CachedTables& tables, const std::int32_t* numbers,
                                      const BagSums& bags, double* right);

/// counts[numbers[i]] += 1.
cudaError_t launch_count_rows(cudaStream_t stream, const std::int32_t* numbers, std::int64_t count,
                              std::uint32_t* counts);

/// *hits += how many of the numbers have a slot.
cudaError_t launch_count_hits(cudaStream_t stream, const CachedTables& tables, const std::int32_t* numbers,
                              std::int64_t count, unsigned long long* hits);

/// Copies the rows of the entries (GPU memory) over the link into their slots, and what was there before is no longer.
cudaError_t launch_hold(cudaStream_t stream, const CachedTables& tables, const RowEntry* entries, std::int64_t count);

}  // namespace warpmark::workloads
