// The clocks of a load: CLOCK_MONOTONIC for all times, since waiting is measured by it, and the offset to
// CLOCK_REALTIME, in which the kernel tells when bytes arrived.
#pragma once

#include <cstdint>
#include <ctime>

namespace warpmark::serving {

[[nodiscard]] inline std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
[[nodiscard]] inline std::int64_t load_now_ns() { return clock_ns(CLOCK_MONOTONIC); }

/// CLOCK_REALTIME - CLOCK_MONOTONIC, now. To be asked again and again: the first is slewed and set.
[[nodiscard]] inline std::int64_t realtime_offset_ns() {
  const std::int64_t before = load_now_ns(), real = clock_ns(CLOCK_REALTIME), after = load_now_ns();
  return real - (before + after) / 2;
}

}  // namespace warpmark::serving
