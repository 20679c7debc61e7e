// Goldens from SciPy 1.10: bootstrap(method="BCa", n_resamples=200000); another generator, hence the tolerances.
#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/random.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

constexpr std::array kBefore{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
constexpr std::array kAfter{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

TEST(BcaLevels, agree_with_the_formula_in_scipy) {
  EXPECT_NEAR(bca_levels(0.1, 0.05, 0.95).low, 0.05461007689835953, 1e-9);
  EXPECT_NEAR(bca_levels(0.1, 0.05, 0.95).high, 0.9917237368688839, 1e-9);
  EXPECT_NEAR(bca_levels(-0.2, -0.03, 0.9).low, 0.015661685498323093, 1e-9);
  EXPECT_NEAR(bca_levels(-0.2, -0.03, 0.9).high, 0.8819571592421436, 1e-9);
  EXPECT_NEAR(bca_levels(0, 0, 0.95).low, 0.025, 1e-12);
}

TEST(Bca, agrees_with_scipy) {
  const BootstrapOptions many{.resamples = 100'000};
  const Estimate mean = bca(kBefore, mean_of, many);
  EXPECT_NEAR(mean.interval.low, 1.34222, 0.01);
  EXPECT_NEAR(mean.interval.high, 2.22444, 0.01);
  const Estimate variance = bca(kBefore, variance_of, many);  // skewed: bias and acceleration matter
  EXPECT_NEAR(variance.interval.low, 0.19465, 0.01);
  EXPECT_NEAR(variance.interval.high, 1.25526, 0.02);
}

TEST(BcaMedianRatio, agrees_with_scipy) {
  const Estimate ratio = bca_median_ratio(kAfter, kBefore, {.resamples = 100'000});
  EXPECT_NEAR(ratio.value, 1.5849056603773584, 1e-12);
  EXPECT_NEAR(ratio.interval.low, 1.20155, 0.05);
  EXPECT_NEAR(ratio.interval.high, 2.82844, 0.05);
}

TEST(Bca, is_the_same_for_the_same_seed) {
  const Estimate first = bca(kBefore, mean_of, {.seed = 7});
  EXPECT_EQ(first.interval, bca(kBefore, mean_of, {.seed = 7}).interval);
  EXPECT_NE(first.interval, bca(kBefore, mean_of, {.seed = 8}).interval);
}

TEST(Bca, of_equal_values_is_that_value) {
  const std::array flat{3.0, 3.0, 3.0};
  EXPECT_EQ(bca(flat, mean_of).interval, (Interval{3, 3, 0.95}));
}

TEST(Bca, covers_the_mean_of_a_skewed_distribution) {
  int covered = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> sample;
    for (std::uint64_t i = 0; i < 30; ++i) {
      sample.push_back(-std::log(1 - random_unit(derive_seed(5, static_cast<std::uint64_t>(trial)), i)));
    }
    const auto interval = bca(sample, mean_of, {.resamples = 999}).interval;
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, kTrials * 89 / 100);  // small samples of an exponential fall a little short of 95 %
}

}  // namespace
}  // namespace warpmark::stats
