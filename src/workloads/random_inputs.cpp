#include "workloads/random_inputs.h"

#include <algorithm>
#include <array>

#include "base/float_types.h"
#include "stats/random.h"

namespace warpmark::workloads {
namespace {

constexpr std::size_t kBlock = 4096;  // elements one thread makes at a time

// Fewer are made by the thread that asks: a large cache needs tens of thousands of small input sets, and on a busy
// machine each meeting of all threads waits for the scheduler, which takes longer than the work.
constexpr std::size_t kBlocksWorthThreads = 16;

/// Calls fill(part, first) for blocks of `values`, on all cores.
template <typename T, typename Fill>
void in_blocks(std::span<T> values, Fill fill) {
  const std::size_t blocks = (values.size() + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) if (blocks >= kBlocksWorthThreads)
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * kBlock;
    fill(values.subspan(first, std::min(kBlock, values.size() - first)), first);
  }
}

/// As in_blocks, by converting floats in [-bound, bound).
template <typename T, typename Convert>
void converted(std::span<T> values, std::uint64_t seed, float bound, Convert convert) {
  in_blocks(values, [&](std::span<T> part, std::size_t first) {
    std::array<float, kBlock> floats;
    const auto source = std::span(floats).first(part.size());
    stats::fill_uniform(source, seed, -bound, bound, first);
    std::transform(source.begin(), source.end(), part.begin(), convert);
  });
}

}  // namespace

std::uint64_t array_seed(std::uint64_t seed, std::size_t set, std::size_t array) {
  return stats::derive_seed(stats::derive_seed(seed, set), array);
}

void fill_random(std::span<float> values, std::uint64_t seed, float low, float high) {
  in_blocks(values, [&](auto part, std::size_t first) { stats::fill_uniform(part, seed, low, high, first); });
}

void fill_random(std::span<double> values, std::uint64_t seed, double low, double high) {
  in_blocks(values, [&](auto part, std::size_t first) { stats::fill_uniform(part, seed, low, high, first); });
}

void fill_random_bf16(std::span<std::uint16_t> values, std::uint64_t seed, float bound) {
  converted(values, seed, bound, [](float value) { return float_to_bf16(value); });
}

void fill_random_f16(std::span<std::uint16_t> values, std::uint64_t seed, float bound) {
  converted(values, seed, bound, [](float value) { return float_to_f16(value); });
}

void fill_random(std::span<std::int8_t> values, std::uint64_t seed) {
  in_blocks(values, [&](auto part, std::size_t first) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::uint64_t bits = stats::random_bits(seed, first + i) >> 32;
      part[i] = static_cast<std::int8_t>(static_cast<int>((bits * 255) >> 32) - 127);
    }
  });
}

}  // namespace warpmark::workloads
