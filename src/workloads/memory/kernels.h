// The inner loops of copy, triad, read and write, once per instruction set. Each works on one thread's part.
#pragma once

#include <cstddef>
#include <span>

namespace warpmark::workloads {

/// Elements that one call of `sum` adds up at most; longer arrays are read block by block.
inline constexpr std::size_t kSumBlock = 16 * 1024;

/// Pointers are 64-byte aligned; counts are of elements. The `_past_cache` variants use non-temporal stores, which do
/// not read the destination's cache lines first, and end with a store fence.
struct StreamKernels {
  const char* instructions;
  void (*copy)(float* to, const float* from, std::size_t count);
  void (*copy_past_cache)(float* to, const float* from, std::size_t count);
  void (*triad)(float* to, const float* b, const float* c, float factor, std::size_t count);
  void (*triad_past_cache)(float* to, const float* b, const float* c, float factor, std::size_t count);
  void (*write)(float* to, float value, std::size_t count);
  void (*write_past_cache)(float* to, float value, std::size_t count);
  float (*sum)(const float* from, std::size_t count);
};

/// Those that this CPU can run, the widest first; never empty.
[[nodiscard]] std::span<const StreamKernels* const> stream_kernels();

}  // namespace warpmark::workloads
