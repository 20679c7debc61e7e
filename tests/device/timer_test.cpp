#include "device/cpu/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "device/reading_cost.h"
#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

/// Pairs of a counter of `hertz`, `step_ns` apart.
std::vector<ClockPair> steady_pairs(double hertz, std::int64_t step_ns, std::size_t count) {
  std::vector<ClockPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto nanoseconds = static_cast<std::int64_t>(i) * step_ns;
    // A count that no longer fits a double's 53 bits: only differences may be converted.
    const std::uint64_t start = std::uint64_t{1} << 60;
    const auto ticks = start + static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * 1e-9 * hertz + 0.5);
    pairs.push_back({ticks, 1'000'000'000'000 + nanoseconds, 40});
  }
  return pairs;
}

TEST(TscFit, finds_the_rate_of_a_steady_counter) {
  const auto rate = fit_tsc_rate(steady_pairs(2.5e9, 500'000, 21));
  ASSERT_TRUE(rate.ok());
  EXPECT_NEAR(rate->seconds_per_tick, 0.4e-9, 0.4e-9 * 1e-9);
  EXPECT_NEAR(rate->relative_error, 8e-9 / 10e-3, 1e-8);  // half a window of 40 ticks over 10 ms
}

TEST(TscFit, refuses_a_counter_that_changes_its_rate) {
  auto pairs = steady_pairs(2.5e9, 500'000, 21);
  for (std::size_t i = 11; i < pairs.size(); ++i) {
    pairs[i].ticks = pairs[10].ticks + (pairs[i].ticks - pairs[10].ticks) / 2;
  }
  EXPECT_FALSE(fit_tsc_rate(pairs).ok());
}

TEST(TscFit, refuses_readings_that_were_torn_apart) {
  auto pairs = steady_pairs(2.5e9, 500'000, 21);
  pairs[3].window_ticks = 5'000'000;  // 2 ms between the two clocks
  EXPECT_FALSE(fit_tsc_rate(pairs).ok());
}

TEST(TscFit, refuses_a_stopped_counter_and_too_few_readings) {
  auto stopped = steady_pairs(2.5e9, 500'000, 21);
  for (auto& pair : stopped) pair.ticks = 7;
  EXPECT_FALSE(fit_tsc_rate(stopped).ok());
  EXPECT_FALSE(fit_tsc_rate(steady_pairs(2.5e9, 500'000, 2)).ok());
}

TEST(TscCalibration, follows_the_kernel_when_it_distrusts_the_counter) {
  test::FakeTree tree;
  tree.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  EXPECT_FALSE(calibrate_tsc(tree.root()).ok());
}

TEST(TscCalibration, agrees_with_the_monotonic_clock_over_a_longer_time) {
  const auto rate = calibrate_tsc("/");
  if (!rate.ok()) GTEST_SKIP() << rate.error().what;
  // The loaded machine may interrupt us between the two clocks: the best of several tries counts.
  double best = 1;
  for (int i = 0; i < 10 && best > 5 * kMostTscError; ++i) {
    const auto ticks = tsc_start();
    const auto begin_ns = monotonic_ns();
    while (monotonic_ns() - begin_ns < 20'000'000) {
    }
    const double clock_s = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
    const double tsc_s = static_cast<double>(tsc_stop() - ticks) * rate->seconds_per_tick;
    best = std::min(best, std::abs(tsc_s / clock_s - 1));
  }
  EXPECT_LT(best, 5 * kMostTscError);
}

TEST(CpuTimer, measures_both_clocks) {
  const double at_most_s = 10e-6 + 2 * cost_of_reading_s();
  for (const bool tsc : {true, false}) {
    const auto rate = calibrate_tsc("/");
    if (tsc && !rate.ok()) continue;
    const auto timer = make_cpu_timer(tsc ? rate : Result<TscRate>(environment_error("asked for the other clock")));
    EXPECT_EQ(timer.use_tsc, tsc);
    EXPECT_EQ(timer.info.method, tsc ? "tsc" : "clock_monotonic_raw");
    EXPECT_GT(timer.info.resolution_s, 0);
    EXPECT_LT(timer.info.resolution_s, at_most_s);
    EXPECT_GT(timer.info.overhead_s, 0);
    EXPECT_LT(timer.info.overhead_s, at_most_s);
    EXPECT_EQ(timer.why_not_tsc.empty(), tsc);
  }
}

}  // namespace
}  // namespace warpmark::device
