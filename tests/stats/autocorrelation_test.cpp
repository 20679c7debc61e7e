// Goldens of step_p: generalised least squares with the covariance matrix written out and inverted, and Student's tail
// by numerical integration, in Python.
#include "stats/drift.h"

#include <gtest/gtest.h>

#include <vector>

#include "stats/change_point_simulation.h"

namespace warpmark::stats {
namespace {

const std::vector<double> kSeries{10.1, 9.8, 10.0, 10.3, 10.2, 9.9, 10.9, 10.7, 11.1};

TEST(StepP, is_that_of_generalised_least_squares) {
  EXPECT_NEAR(step_p(kSeries, 6, 0), 0.0004048866, 1e-9);
  EXPECT_NEAR(step_p(kSeries, 6, 0.3), 0.0012591629, 1e-9);
  EXPECT_NEAR(step_p(kSeries, 6, 0.6), 0.0034537848, 1e-9);
  EXPECT_NEAR(step_p(kSeries, 6, 0.9), 0.0068914048, 1e-9);
}

TEST(StepP, without_correlation_is_students) {
  // The two-sample test with one variance for both.
  EXPECT_NEAR(step_p(kSeries, 1, 0), 0.6247364252213, 1e-11);
  EXPECT_NEAR(step_p(kSeries, 2, 0), 0.2001462632571, 1e-11);
  EXPECT_NEAR(step_p(kSeries, 5, 0), 0.0572022756581, 1e-11);
  EXPECT_NEAR(step_p(kSeries, 8, 0), 0.0726872266225, 1e-11);
}

TEST(StepP, keeps_its_promise_under_correlation_in_short_series) {
  constexpr int kTrials = 4000;
  for (const double rho : {0.3, 0.6, 0.9}) {
    int significant = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      significant += step_p(simulated({.n = 10, .rho = rho}, trial), 7, rho) <= 0.05;
    }
    EXPECT_NEAR(static_cast<double>(significant) / kTrials, 0.05, 0.012) << rho;
  }
}

TEST(StepP, of_too_few_or_equal_values_is_one) {
  EXPECT_EQ(step_p(std::vector<double>{1, 2}, 1, 0.5), 1);
  EXPECT_EQ(step_p(std::vector<double>(8, 3.0), 4, 0.5), 1);
  EXPECT_EQ(step_p(std::vector<double>{1, 1, 1, 2, 2, 2}, 3, 0.5), 0);
}

TEST(LargestRho, is_above_the_true_one_in_nine_of_ten_series_that_change) {
  constexpr int kTrials = 1000;
  for (const double rho : {0.0, 0.3, 0.6, 0.8}) {
    for (const std::size_t n : {17U, 100U}) {
      const std::vector<std::int64_t> breaks{static_cast<std::int64_t>(n) - 4};
      int above = 0;
      double mean = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        const auto series = simulated({.n = n, .rho = rho, .step = 0.2, .last = 4}, trial);
        const double largest = largest_rho(series, breaks);
        above += largest >= rho;
        mean += largest / kTrials;
      }
      EXPECT_GE(above, kTrials * 86 / 100) << rho << " of " << n;
      EXPECT_LE(mean, rho + (n == 100 ? 0.15 : 0.5)) << rho << " of " << n;
    }
  }
}

TEST(LargestRho, without_noise_is_none_and_without_data_anything) {
  EXPECT_EQ(largest_rho(std::vector<double>(20, 0.1), {}), 0);
  std::vector<double> step(20, 0.1);
  step.resize(30, 0.3);
  EXPECT_EQ(largest_rho(step, std::vector<std::int64_t>{20}), 0);
  EXPECT_EQ(largest_rho(std::vector<double>{1, 2, 4}, {}), 0.95);
  EXPECT_EQ(largest_rho(std::vector<double>{}, {}), 0);
}

}  // namespace
}  // namespace warpmark::stats
