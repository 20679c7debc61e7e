#include "workloads/set_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace warpmark::workloads {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStagger = 17 * 64;  // lines between the page offsets of neighbouring arrays

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

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

}  // namespace warpmark::workloads
