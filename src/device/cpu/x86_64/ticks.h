// The time stamp counter of x86-64, ordered by fences (device/cpu/timer.h says why so).
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace warpmark::device {

/// Ticks at the start of a region: everything before has completed, nothing after has begun.
[[nodiscard]] inline std::uint64_t tsc_start() {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}
/// Ticks at the end: RDTSCP waits for the region's instructions, LFENCE keeps later ones out.
[[nodiscard]] inline std::uint64_t tsc_stop() {
  unsigned processor = 0;
  const std::uint64_t ticks = __rdtscp(&processor);
  _mm_lfence();
  return ticks;
}

}  // namespace warpmark::device
