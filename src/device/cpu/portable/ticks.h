// Where no counter of the processor is read, CLOCK_MONOTONIC_RAW stands for it, and has_invariant_tsc() says no. The
// C library reads the counter of an Armv8 processor for that clock, without a system call.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace warpmark::device {

[[nodiscard]] inline std::uint64_t tsc_start() { return static_cast<std::uint64_t>(monotonic_ns()); }
[[nodiscard]] inline std::uint64_t tsc_stop() { return static_cast<std::uint64_t>(monotonic_ns()); }

}  // namespace warpmark::device
