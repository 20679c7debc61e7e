// Sums of rows of which some are in GPU memory and the rest is read from the host's by the same kernel. A team reads a
// row as whole neighbouring lines of 128 bytes, which is what makes such reads as fast as the link (EMOGI: Min et al.,
// VLDB 14(2), 2020): no copy has to be prepared for what is missed.
#include "workloads/module/feeding/embedding_cache_kernels.h"

#include "workloads/module/feeding/gather_sums.cuh"

namespace warpmark::workloads {
namespace {

struct CachedRows {
  CachedTables tables;
  const std::int32_t* numbers;
  template <typename Load>
  __device__ const Load* row(std::int64_t lookup, int columns) const {
    const std::int32_t number = numbers[lookup];
    const std::int32_t slot = tables.slots[number];
    const auto* from = static_cast<const Load*>(slot == kAbsent ? tables.host : tables.held);
    return from + static_cast<std::int64_t>(slot == kAbsent ? number : slot) * columns;
  }
};

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::min<std::int64_t>((threads + kGatherThreads - 1) / kGatherThreads, 1 << 16));
}

__global__ void count_kernel(const std::int32_t* numbers, std::int64_t count, std::uint32_t* counts) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    atomicAdd(counts + numbers[i], 1U);
  }
}

__global__ void hits_kernel(const std::int32_t* slots, const std::int32_t* numbers, std::int64_t count,
                            unsigned long long* hits) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long found = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    found += slots[numbers[i]] == kAbsent ? 0 : 1;
  }
  if (found != 0) atomicAdd(hits, found);
}

/// A warp an entry.
template <typename Word>
__global__ void hold_kernel(CachedTables tables, const RowEntry* entries, std::int64_t count) {
  const std::int64_t words = tables.row_bytes / static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * blockDim.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32; i < count;
       i += warps) {
    const RowEntry entry = entries[i];
    const Word* from = static_cast<const Word*>(tables.host) + entry.row * words;
    Word* to = static_cast<Word*>(tables.held) + entry.slot * words;
    for (std::int64_t word = lane; word < words; word += 32) to[word] = from[word];
    if (lane != 0) continue;
    if (entry.driven_out != kAbsent) tables.slots[entry.driven_out] = kAbsent;
    tables.slots[entry.row] = entry.slot;
  }
}

}  // namespace

cudaError_t launch_cached_sums(cudaStream_t stream, const CachedTables& tables, const std::int32_t* numbers,
                               const BagSums& bags) {
  return gather_sums(stream, CachedRows{tables, numbers}, bags);
}

cudaError_t launch_uncached_reference(cudaStream_t stream, const CachedTables& tables, const std::int32_t* numbers,
                                      const BagSums& bags, double* right) {
  return reference_sums(stream, DirectRows<std::int32_t>{tables.host, numbers}, bags, right);
}

cudaError_t launch_count_rows(cudaStream_t stream, const std::int32_t* numbers, std::int64_t count,
                              std::uint32_t* counts) {
  count_kernel<<<blocks_for(count), kGatherThreads, 0, stream>>>(numbers, count, counts);
  return cudaGetLastError();
}

cudaError_t launch_count_hits(cudaStream_t stream, const CachedTables& tables, const std::int32_t* numbers,
                              std::int64_t count, unsigned long long* hits) {
  hits_kernel<<<blocks_for(count), kGatherThreads, 0, stream>>>(tables.slots, numbers, count, hits);
  return cudaGetLastError();
}

cudaError_t launch_hold(cudaStream_t stream, const CachedTables& tables, const RowEntry* entries, std::int64_t count) {
  if (count == 0) return cudaSuccess;
  if (tables.row_bytes % 16 == 0) {
    hold_kernel<uint4><<<blocks_for(count * 32), kGatherThreads, 0, stream>>>(tables, entries, count);
  } else {
    hold_kernel<std::uint16_t><<<blocks_for(count * 32), kGatherThreads, 0, stream>>>(tables, entries, count);
  }
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
