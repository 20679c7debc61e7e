// Rank by counting: how many keys come before one, over keys in shared memory. Every pair is compared, which for the
// few hundred patches of an image takes less time than the barriers of a sorting network.
#pragma once

#include <cstdint>

namespace warpmark::workloads::vision {

inline constexpr std::uint32_t kNoKey = 0xFFFFFFFFU;  ///< after every real key, and never counted
inline constexpr unsigned kChunk = 4;                 ///< keys of one 16-byte load

[[nodiscard]] constexpr unsigned chunks_of(unsigned keys) { return (keys + kChunk - 1) / kChunk; }

/// count += key < limit, in two instructions.
__device__ __forceinline__ void count_below(unsigned& count, std::uint32_t key, std::uint32_t limit) {
  asm("{\n\t.reg .pred below;\n\tsetp.lt.u32 below, %1, %2;\n\t@below add.u32 %0, %0, 1;\n\t}"
      : "+r"(count)
      : "r"(key), "r"(limit));
}

/// Keys before key `own` of patch `patch`, equal keys by index, among `chunks` chunks of keys (kNoKey fills up): this
/// lane's part of them, chunks lane, lane + kLanes, ... The rank is the sum over the lanes.
template <unsigned kLanes>
__device__ __forceinline__ unsigned keys_before(const std::uint32_t* keys, unsigned chunks, unsigned patch,
                                                std::uint32_t own, unsigned lane) {
  const auto* fours = reinterpret_cast<const uint4*>(keys);
  const unsigned own_chunk = patch / kChunk;
  unsigned before[kChunk] = {};
#pragma unroll 4
  for (unsigned chunk = lane; chunk < chunks; chunk += kLanes) {
    const uint4 four = fours[chunk];
    // Below own, or at most own for a lower index: below own + 1, as keys end before kNoKey.
    const std::uint32_t limit = own + (chunk < own_chunk ? 1U : 0U);
    count_below(before[0], four.x, limit);
    count_below(before[1], four.y, limit);
    count_below(before[2], four.z, limit);
    count_below(before[3], four.w, limit);
  }
  if (lane == 0) {  // equal keys of a lower index in the patch's own chunk
    const uint4 four = fours[own_chunk];
    const unsigned inside = patch % kChunk;
    before[0] += inside > 0 && four.x == own ? 1U : 0U;
    before[1] += inside > 1 && four.y == own ? 1U : 0U;
    before[2] += inside > 2 && four.z == own ? 1U : 0U;
  }
  return before[0] + before[1] + before[2] + before[3];
}

/// Sum over groups of kLanes neighbouring lanes, a power of two up to 32. All lanes of the warp take part.
template <unsigned kLanes>
__device__ __forceinline__ unsigned lanes_sum(unsigned value) {
#pragma unroll
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0U, value, offset);
  return value;
}

}  // namespace warpmark::workloads::vision
