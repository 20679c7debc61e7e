#include "stats/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::stats::drift_cases {
namespace {

double normal(std::uint64_t seed, std::uint64_t i) {
  return normal_quantile((static_cast<double>(random_bits(seed, i) >> 12) + 0.5) * 0x1p-52);
}

std::vector<double> series(std::uint64_t seed, std::size_t n, double slope, double rho = 0) {
  std::vector<double> values;
  double state = normal(seed, 1'000'000);
  for (std::size_t i = 0; i < n; ++i) {
    state = rho * state + std::sqrt(1 - rho * rho) * normal(seed, i);
    values.push_back(state + slope * static_cast<double>(i));
  }
  return values;
}

// All slopes written out.
TEST(Drift, is_the_median_of_all_slopes) {
  const std::vector<double> values{3, 5, 4, 8, 7, 9, 12, 11, 10, 15};
  const auto drift = drift_of(values);
  ASSERT_TRUE(drift);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
    }
  }
  std::sort(slopes.begin(), slopes.end());
  EXPECT_DOUBLE_EQ(drift->slope, slopes[22]);
  EXPECT_LT(drift->p, 0.02);
  EXPECT_GT(drift->interval.low, 0);
}

TEST(Drift, is_not_tilted_by_an_outlier) {
  auto values = series(1, 40, 0.2);
  const double before = drift_of(values)->slope;
  values.back() = 1e6;
  EXPECT_NEAR(drift_of(values)->slope, before, 0.03);
}

TEST(Drift, is_seldom_seen_where_there_is_none) {
  for (const double rho : {0.0, 0.5}) {
    int alarms = 0, covered = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const auto drift = drift_of(series(derive_seed(5, seed), 40, 0, rho));
      alarms += drift->interval.low > 0 || drift->interval.high < 0;
      covered += drift->p > 0.05;
    }
    EXPECT_LE(alarms, 400 * 0.05 + 3 * std::sqrt(400 * 0.05 * 0.95)) << rho;
    EXPECT_GE(covered, 400 * 0.95 - 3 * std::sqrt(400 * 0.05 * 0.95)) << rho;
  }
}

TEST(Drift, is_told_from_steps) {
  std::vector<double> step;
  for (std::size_t i = 0; i < 40; ++i) step.push_back((i < 20 ? 0 : 8) + normal(9, i));
  EXPECT_FALSE(creeps_rather_than_steps(step, std::vector<std::int64_t>{20}));
  const auto creep = series(3, 40, 0.3);
  EXPECT_TRUE(creeps_rather_than_steps(creep, std::vector<std::int64_t>{20}));
  EXPECT_TRUE(creeps_rather_than_steps(creep, std::vector<std::int64_t>{13, 27}));
  EXPECT_FALSE(creeps_rather_than_steps(creep, {}));
}

TEST(Drift, needs_ten_values) {
  EXPECT_FALSE(drift_of(series(1, 9, 0.5)));
  EXPECT_TRUE(drift_of(series(1, 10, 0.5)));
  EXPECT_EQ(drift_of(std::vector<double>(12, 3.0))->p, 1);
}

}  // namespace
}  // namespace warpmark::stats::drift_cases
