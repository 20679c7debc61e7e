// Rank by counting: how many keys come before one, over keys in shared memory. Every pair is compared, which for the few
// hundred patches of an image takes less time than the barriers of a sorting network.
#pragma once

#include <cstdint>

namespace warpmark::workloads::vision {

inline constexpr std::uint32_t kNoKey = 0xFFFFFFFFU;  ///< after every real key, and never counted

/// Keys before key `own` of patch `patch` among `count` keys (a multiple of 4; kNoKey fills up), equal keys by index;
/// of every fourth key those that are this lane's: chunks lane, lane + lanes, ... `own` is below kNoKey - 1.
__device__ __forceinline__ int keys_before(const std::uint32_t* keys, int count, int patch, std::uint32_t own, int lane,
                                           int lanes) {
  const auto* chunks = reinterpret_cast<const uint4*>(keys);
  const int own_chunk = patch / 4;
  int before = 0;
#pragma unroll 4
  for (int chunk = lane; chunk < count / 4; chunk += lanes) {
    const uint4 four = chunks[chunk];
    // key < own, or key <= own for lower indices, is key < own + 1: one comparison a key but in the patch's own chunk.
    const std::uint32_t limit = chunk < own_chunk ? own + 1 : own;
    const int inside = chunk == own_chunk ? patch % 4 : 0;  // keys of the own chunk with a lower index
    before += four.x < limit + (inside > 0 ? 1U : 0U);
    before += four.y < limit + (inside > 1 ? 1U : 0U);
    before += four.z < limit + (inside > 2 ? 1U : 0U);
    before += four.w < limit;
  }
  return before;
}

}  // namespace warpmark::workloads::vision
