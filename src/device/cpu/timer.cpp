#include "device/cpu/timer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "device/cpu/processor.h"

namespace warpmark::device {
namespace {

/// The closest of several tries, so that an interrupt between the two readings does not matter.
ClockPair read_pair() {
  ClockPair best;
  best.window_ticks = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = tsc_start();
    const std::int64_t nanoseconds = monotonic_ns();
    const std::uint64_t after = tsc_stop();
    if (after - before >= best.window_ticks) continue;
    best = {before + (after - before) / 2, nanoseconds, after - before};
  }
  return best;
}

/// Durations of empty regions, in the clock's own unit, and the smallest step between two readings.
template <typename Start, typename Stop>
TimerInfo measure_clock(const char* method, double seconds_per_unit, Start start, Stop stop) {
  constexpr std::size_t kRegions = 20'001;
  std::vector<double> empty(kRegions);
  double step = std::numeric_limits<double>::max();
  auto previous = stop();
  for (double& units : empty) {
    const auto begin = start();
    const auto end = stop();
    units = static_cast<double>(end - begin);
    for (const double difference : {units, static_cast<double>(begin - previous)}) {
      if (difference > 0) step = std::min(step, difference);
    }
    previous = end;
  }
  const auto middle = empty.begin() + kRegions / 2;
  std::nth_element(empty.begin(), middle, empty.end());
  return {.method = method, .resolution_s = step * seconds_per_unit, .overhead_s = *middle * seconds_per_unit};
}

}  // namespace

Result<TscRate> fit_tsc_rate(std::span<const ClockPair> pairs) {
  if (pairs.size() < 3) return environment_error("too few readings to calibrate the time stamp counter");
  // Differences from the first pair keep all digits: the raw counts exceed a double's 53 bits after months.
  const auto x = [&](const ClockPair& pair) { return static_cast<double>(pair.ticks - pairs.front().ticks); };
  const auto y = [&](const ClockPair& pair) {
    return static_cast<double>(pair.nanoseconds - pairs.front().nanoseconds) * 1e-9;
  };
  const auto n = static_cast<double>(pairs.size());
  double mean_x = 0, mean_y = 0;
  for (const auto& pair : pairs) {
    mean_x += x(pair) / n;
    mean_y += y(pair) / n;
  }
  double sum_xx = 0, sum_xy = 0;
  for (const auto& pair : pairs) {
    sum_xx += (x(pair) - mean_x) * (x(pair) - mean_x);
    sum_xy += (x(pair) - mean_x) * (y(pair) - mean_y);
  }
  if (sum_xx <= 0 || sum_xy <= 0) return environment_error("the time stamp counter does not advance");
  TscRate rate;
  rate.seconds_per_tick = sum_xy / sum_xx;
  double worst = 0;  // off the line, in seconds
  for (const auto& pair : pairs) {
    const double line = mean_y + rate.seconds_per_tick * (x(pair) - mean_x);
    const double window = static_cast<double>(pair.window_ticks) / 2 * rate.seconds_per_tick;
    worst = std::max(worst, std::fabs(y(pair) - line) + window);
  }
  rate.relative_error = worst / y(pairs.back());
  if (!(rate.relative_error <= kMostTscError)) {
    return environment_error("the time stamp counter and CLOCK_MONOTONIC_RAW disagree by a ratio of " +
                             std::to_string(rate.relative_error));
  }
  return rate;
}

Result<TscRate> calibrate_tsc(const std::filesystem::path& root) {
  if (!has_invariant_tsc()) return environment_error("the CPU has no invariant time stamp counter");
  // A kernel that found the counters of its cores apart, or drifting, falls back to another source.
  const auto source = first_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  constexpr std::array<std::string_view, 5> kBuiltOnTsc{"", "tsc", "tsc-early", "kvm-clock",
                                                        "hyperv_clocksource_tsc_page"};
  if (std::find(kBuiltOnTsc.begin(), kBuiltOnTsc.end(), source) == kBuiltOnTsc.end()) {
    return environment_error("the kernel does not use the time stamp counter (its clock source is " + source + ")");
  }
  // Over 10 ms, windows of some 50 ns give the rate to a few parts in a million. On a busy machine a step may take much
  // longer; then few of them are enough.
  constexpr std::int64_t kStep_ns = 500'000;
  constexpr std::int64_t kSpan_ns = 10'000'000;
  constexpr std::size_t kFewestPairs = 5;
  std::vector<ClockPair> pairs{read_pair()};
  while (pairs.size() < kFewestPairs || pairs.back().nanoseconds - pairs.front().nanoseconds < kSpan_ns) {
    while (monotonic_ns() - pairs.back().nanoseconds < kStep_ns) {
    }
    pairs.push_back(read_pair());
  }
  return fit_tsc_rate(pairs);
}

CpuTimer make_cpu_timer(const Result<TscRate>& rate) {
  CpuTimer timer;
  timer.use_tsc = rate.ok();
  if (rate.ok()) {
    timer.rate = *rate;
    timer.info = measure_clock("tsc", rate->seconds_per_tick, tsc_start, tsc_stop);
  } else {
    timer.why_not_tsc = rate.error().what;
    timer.info = measure_clock("clock_monotonic_raw", 1e-9, monotonic_ns, monotonic_ns);
  }
  return timer;
}

const CpuTimer& cpu_timer() {
  static const CpuTimer timer = make_cpu_timer(calibrate_tsc("/"));
  return timer;
}

}  // namespace warpmark::device
