// The date by a clock that nobody sets. Also what measures how long the recorder waits: were it the wall clock, setting
// that back would keep a program from ending for as long.
#pragma once

#include <time.h>

#include <cstdint>

namespace warpmark::profile {

inline std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// Nanoseconds since the Unix epoch: the date when this process first asked, and the monotonic time since. Both are
/// slewed alike, so processes agree unless somebody set the clock in between. Any thread.
inline std::int64_t unix_ns() {
  static const std::int64_t kEpoch_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  return kEpoch_ns + clock_ns(CLOCK_MONOTONIC);
}

}  // namespace warpmark::profile
