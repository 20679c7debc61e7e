// What a reading of the clock costs, which differs a thousandfold between machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace warpmark::device {

/// The cheapest of many, in seconds.
inline double cost_of_reading_s() {
  std::int64_t cheapest = std::numeric_limits<std::int64_t>::max();
  std::int64_t before = monotonic_ns();
  for (int i = 0; i < 200; ++i) {
    const std::int64_t now = monotonic_ns();
    cheapest = std::min(cheapest, now - before);
    before = now;
  }
  return static_cast<double>(cheapest) * 1e-9;
}

}  // namespace warpmark::device
