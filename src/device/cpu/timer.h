// The CPU's clocks for timed regions. Where the time stamp counter (TSC) is invariant it is read directly, ordered by
// fences as in G. Paoloni, "How to Benchmark Code Execution Times on Intel IA-32 and IA-64 Instruction Set
// Architectures" (Intel 324264-001, 2010), with LFENCE in place of CPUID (Intel SDM vol. 2B, RDTSC), because CPUID
// traps in virtual machines. Elsewhere CLOCK_MONOTONIC_RAW is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "generated/ticks.h"

namespace warpmark::device {

/// A moment read on both clocks. `window_ticks`: TSC ticks between the readings around the clock's; its half bounds the
/// error of pairing them.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::int64_t nanoseconds = 0;
  std::uint64_t window_ticks = 0;
};

struct TscRate {
  double seconds_per_tick = 0;
  double relative_error = 0;  ///< bound on the error of seconds_per_tick, from the residuals and the windows
};

/// Least-squares line through the pairs. Environment error if they are too few, do not advance, or lie off the line by
/// more than kMostTscError: then the counter or the clock is not steady.
inline constexpr double kMostTscError = 1e-4;
[[nodiscard]] Result<TscRate> fit_tsc_rate(std::span<const ClockPair> pairs);

/// Measures the rate against CLOCK_MONOTONIC_RAW in about 10 ms. Environment error if the TSC does not run at a
/// constant rate (CPUID 0x80000007 EDX bit 8) or the kernel itself has stopped trusting it (its clock source under
/// `root`).
[[nodiscard]] Result<TscRate> calibrate_tsc(const std::filesystem::path& root);

/// Which clock, how fine and how costly, measured on many empty regions. Made once per process; any thread.
struct CpuTimer {
  bool use_tsc = false;
  TscRate rate;             ///< of the TSC; zeros if it is not used
  std::string why_not_tsc;  ///< empty if it is used
  TimerInfo info;
};
[[nodiscard]] const CpuTimer& cpu_timer();

/// Measures a timer afresh. For tests of both clocks.
[[nodiscard]] CpuTimer make_cpu_timer(const Result<TscRate>& rate);

}  // namespace warpmark::device
