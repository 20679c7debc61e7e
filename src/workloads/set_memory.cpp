#include "workloads/set_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/float_types.h"
#include "stats/random.h"

namespace warpmark::workloads {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStagger = 17 * 64;  // lines between the page offsets of neighbouring arrays

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

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

Result<SetMemory> SetMemory::make(device::Device& device, std::size_t sets, std::span<const std::size_t> array_bytes,
                                  std::span<const std::span<std::byte>> given) {
  WM_CHECK(sets > 0 && (given.empty() || given.size() >= sets));
  for (const auto& bytes : given) WM_CHECK(bytes.size() == array_bytes.front());
  SetMemory memory;
  memory.sets_ = sets;
  memory.given_.assign(given.begin(), given.end());
  std::size_t end = 0;
  for (std::size_t i = 0; i < array_bytes.size(); ++i) {
    const std::size_t offset = round_up(end, kPage) + (i * kStagger) % kPage;
    memory.places_.push_back({offset, array_bytes[i]});
    if (i > 0 || given.empty()) end = offset + array_bytes[i];
  }
  // Small sets are packed to the line, so that rotating over them does not visit one page offset only.
  memory.set_bytes_ = std::max<std::size_t>(round_up(end, 64), 64);
  std::size_t total = 0;
  if (__builtin_mul_overflow(memory.set_bytes_, sets, &total) || total > static_cast<std::size_t>(INT64_MAX)) {
    return environment_error(
        fmt::format("{} input sets of {} bytes do not fit a 64-bit address space", sets, memory.set_bytes_),
        "choose a smaller shape with --set");
  }
  WM_ASSIGN(memory.buffer_, device.allocate(total));
  return memory;
}

void SetMemory::poison(std::size_t index) const {
  constexpr std::size_t kBlock = 256 * 1024;
  const std::size_t blocks = (places_[index].bytes + kBlock - 1) / kBlock;
  // Static blocks, as in the kernels: the thread that first touches a page decides its NUMA node.
#pragma omp parallel for schedule(static) collapse(2)
  for (std::size_t set = 0; set < sets_; ++set) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto all = bytes(set, index);
      const std::size_t begin = block * kBlock;
      std::memset(all.data() + begin, 0xFF, std::min(kBlock, all.size() - begin));
    }
  }
}

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
