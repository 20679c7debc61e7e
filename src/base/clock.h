// Clocks. Elapsed time comes from CLOCK_MONOTONIC_RAW (not slewed by NTP), dates from CLOCK_REALTIME.
#pragma once

#include <cstdint>
#include <string>

namespace warpmark {

/// Nanoseconds of CLOCK_MONOTONIC_RAW. Any thread.
[[nodiscard]] std::int64_t monotonic_ns();

/// Seconds since the Unix epoch, UTC.
[[nodiscard]] double wall_clock_s();

/// "2026-03-01T12:34:56Z" for seconds since the Unix epoch.
[[nodiscard]] std::string format_utc(double unix_seconds);

}  // namespace warpmark
