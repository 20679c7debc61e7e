// Goldens from SciPy 1.10: bootstrap(method="BCa", n_resamples=200000); another generator, hence the tolerances.
#include "stats/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace warpmark::stats {
namespace {

constexpr std::array kBefore{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
constexpr std::array kAfter{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};

TEST(BcaLevels, agree_with_the_formula_in_scipy) {
  EXPECT_NEAR(bca_levels(0.1, 0.05, 0.95).low, 0.05461007689835953, 1e-9);
  EXPECT_NEAR(bca_levels(0.1, 0.05, 0.95).high, 0.9917237368688839, 1e-9);
  EXPECT_NEAR(bca_levels(-0.2, -0.03, 0.9).low, 0.015661685498323093, 1e-9);
  EXPECT_NEAR(bca_levels(-0.2, -0.03, 0.9).high, 0.8819571592421436, 1e-9);
  EXPECT_NEAR(bca_levels(0, 0, 0.95).low, 0.025, 1e-12);
}

TEST(BcaMedianRatio, agrees_with_scipy) {
  const Estimate ratio = bca_median_ratio(kAfter, kBefore, {.resamples = 100'000});
  EXPECT_NEAR(ratio.value, 1.5849056603773584, 1e-12);
  EXPECT_NEAR(ratio.interval.low, 1.20155, 0.05);
  EXPECT_NEAR(ratio.interval.high, 2.82844, 0.05);
}

TEST(BcaMedianRatio, is_the_same_for_the_same_seed) {
  const Estimate first = bca_median_ratio(kAfter, kBefore, {.seed = 7});
  EXPECT_EQ(first.interval, bca_median_ratio(kAfter, kBefore, {.seed = 7}).interval);
}

TEST(BcaMedianRatio, of_equal_values_is_that_value) {
  const std::array three{3.0, 3.0, 3.0};
  const std::array six{6.0, 6.0};
  EXPECT_EQ(bca_median_ratio(three, six).interval, (Interval{2, 2, 0.95}));
}

TEST(BcaMedianRatio, covers_the_ratio_of_skewed_distributions) {
  const auto exponential = [](std::uint64_t seed, std::uint64_t trial) {
    std::vector<double> sample;
    for (std::uint64_t i = 0; i < 30; ++i) {
      sample.push_back(-std::log(1 - random_unit(derive_seed(seed, trial), i)));
    }
    return sample;
  };
  int covered = 0;
  constexpr int kTrials = 300;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const auto interval = bca_median_ratio(exponential(5, trial), exponential(6, trial), {.resamples = 999}).interval;
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, kTrials * 89 / 100);  // small samples of an exponential may fall a little short of 95 %
}

}  // namespace
}  // namespace warpmark::stats
