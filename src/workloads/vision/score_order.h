// The order of relevance as an order of unsigned integers, for selection and sorting without branches on floats.
#pragma once

#include <bit>
#include <cstdint>

namespace warpmark::workloads::vision {

/// Above the key of -infinity and below 2^32 - 1, which is thus free to mean "not there".
inline constexpr std::uint32_t kNanKey = 0xFF800001U;

/// Smaller for a more relevant score: NaN is the least relevant, zeros of both signs are equal.
[[nodiscard]] constexpr std::uint32_t descending_key(float score) {
  if (!(score == score)) return kNanKey;
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 + 0 is +0
  const std::uint32_t ascending = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return ~ascending;
}

/// Sorts by relevance, then by index.
[[nodiscard]] constexpr std::uint64_t relevance_key(float score, std::uint32_t index) {
  return (static_cast<std::uint64_t>(descending_key(score)) << 32) | index;
}

}  // namespace warpmark::workloads::vision
