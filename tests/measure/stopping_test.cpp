#include "measure/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace warpmark::measure {
namespace {

TEST(StoppingRule, stops_when_the_interval_of_the_median_is_narrow_enough) {
  StoppingRule rule({.half_width = 0.01, .min_samples = 10, .budget_s = 100});
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1.0, 0.02);
  double elapsed = 0;
  while (!rule.done()) rule.add(noise(random), elapsed += 0.001);
  EXPECT_TRUE(rule.converged());
  EXPECT_LE(relative_half_width(rule.samples(), 0.95), 0.01);
  EXPECT_GE(rule.samples().size(), 10U);
  EXPECT_LT(rule.samples().size(), 200U);
  EXPECT_EQ(rule.reason(), "interval of the median within ±1 %");
}

TEST(StoppingRule, says_that_the_budget_ended_before_it_converged) {
  StoppingRule rule({.half_width = 0.001, .min_samples = 10, .budget_s = 0.05});
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0.0, 0.5);
  double elapsed = 0;
  while (!rule.done()) rule.add(noise(random), elapsed += 0.001);
  EXPECT_FALSE(rule.converged());
  EXPECT_NE(rule.reason().find("time budget of 0.05 s"), std::string::npos);
  EXPECT_NE(rule.reason().find("target ±0.1 %"), std::string::npos);
}

TEST(StoppingRule, takes_enough_samples_for_an_interval_even_beyond_the_budget) {
  StoppingRule rule({.half_width = 0.001, .min_samples = 10, .budget_s = 0.5});
  for (int i = 0; i < 5; ++i) {
    rule.add(1.0 + i, 10.0 * (i + 1));
    EXPECT_FALSE(rule.done());
  }
  rule.add(7.0, 60.0);
  EXPECT_TRUE(rule.done());
  EXPECT_TRUE(std::isfinite(relative_half_width(rule.samples(), 0.95)));
}

TEST(StoppingRule, is_bounded_by_the_maximum_of_samples) {
  StoppingRule rule({.half_width = 1e-9, .min_samples = 10, .max_samples = 50, .budget_s = 1e9});
  int count = 0;
  while (!rule.done()) {
    ++count;
    rule.add(1.0 + (count % 7), 0.001 * count);
  }
  EXPECT_EQ(count, 50);
  EXPECT_NE(rule.reason().find("maximum of 50 samples"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::measure
