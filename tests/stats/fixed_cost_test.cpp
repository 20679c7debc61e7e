#include "stats/scaling_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::stats::fixed_cost_cases {
namespace {

std::vector<SizedTime> runs(double fixed_s, double per_item_s, double noise, std::uint64_t seed) {
  std::vector<SizedTime> times;
  for (const double items : {10.0, 100.0, 1000.0}) {
    for (int i = 0; i < 10; ++i) {
      const double z = normal_quantile(random_unit(seed, times.size()) * 0.999 + 0.0005);
      times.push_back({items, (fixed_s + per_item_s * items) * std::exp(noise * z)});
    }
  }
  return times;
}

TEST(FixedCost, is_found_exactly_without_noise) {
  const auto cost = fixed_cost(runs(2.0, 0.01, 0, 1));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->fixed_s, 2.0, 1e-9);
  EXPECT_NEAR(cost->per_item_s, 0.01, 1e-12);
  EXPECT_NEAR(cost->fixed_share(10), 2.0 / 2.1, 1e-9);
  EXPECT_NEAR(cost->fixed_share(1000), 2.0 / 12, 1e-9);
  EXPECT_LT(cost->worst_misfit, 1e-9);
}

TEST(FixedCost, intervals_cover_the_truth) {
  int fixed = 0, item = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto cost = fixed_cost(runs(0.5, 0.004, 0.05, derive_seed(4, seed)));
    fixed += cost->fixed_interval.low <= 0.5 && 0.5 <= cost->fixed_interval.high;
    item += cost->per_item_interval.low <= 0.004 && 0.004 <= cost->per_item_interval.high;
  }
  const double least = 400 * 0.95 - 4 * std::sqrt(400 * 0.05 * 0.95);
  EXPECT_GE(fixed, least);
  EXPECT_GE(item, least);
}

TEST(FixedCost, says_that_a_curve_is_no_line) {
  std::vector<SizedTime> times;
  for (const double items : {10.0, 100.0, 1000.0}) times.push_back({items, 1e-4 * items * items});
  EXPECT_GT(fixed_cost(times)->worst_misfit, 0.2);
}

TEST(FixedCost, needs_three_sizes) {
  EXPECT_FALSE(fixed_cost(std::vector<SizedTime>{{1, 1}, {2, 2}, {2, 2.1}}));
  EXPECT_FALSE(fixed_cost(std::vector<SizedTime>{{1, 1}, {2, 0}, {3, 3}}));
}

}  // namespace
}  // namespace warpmark::stats::fixed_cost_cases
