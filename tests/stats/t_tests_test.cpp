// Goldens: R's `sleep` data (the first is t.test's own example), computed with SciPy 1.10.
#include "stats/tests/rank_and_t_tests.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace warpmark::stats {
namespace {

constexpr std::array kFirst{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
constexpr std::array kSecond{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

TEST(WelchT, agrees_with_scipy) {
  const TTest test = welch_t(kFirst, kSecond);
  EXPECT_NEAR(test.t, 1.8608134674868526, 1e-9);
  EXPECT_NEAR(test.degrees, 17.776473516178495, 1e-9);
  EXPECT_NEAR(test.p, 0.07939414018735823, 1e-9);
  EXPECT_NEAR(test.interval.low, -0.20548323071163632, 1e-9);
  EXPECT_NEAR(test.interval.high, 3.365483230711636, 1e-9);
}

TEST(PairedT, agrees_with_scipy) {
  const TTest test = paired_t(kFirst, kSecond);
  EXPECT_NEAR(test.t, 4.062127683382037, 1e-9);
  EXPECT_NEAR(test.p, 0.00283289019738427, 1e-9);
  EXPECT_NEAR(test.interval.low, 0.7001142367452713, 1e-9);
  EXPECT_NEAR(test.interval.high, 2.4598857632547286, 1e-9);
}

TEST(EquivalenceP, agrees_with_scipys_one_sided_tests) {
  const TTest test = paired_t(kFirst, kSecond);
  EXPECT_NEAR(equivalence_p(test, -1, 1), 0.9149441145512885, 1e-9);
  EXPECT_NEAR(equivalence_p(test, 0.5, 3), 0.010759243378387266, 1e-9);
}

TEST(EquivalenceP, agrees_with_the_interval_of_twice_alpha) {
  const Interval inside = paired_t(kFirst, kSecond, 0.9).interval;
  const TTest test = paired_t(kFirst, kSecond);
  EXPECT_LT(equivalence_p(test, inside.low - 1e-6, inside.high + 1e-6), 0.05);
  EXPECT_GT(equivalence_p(test, inside.low + 1e-6, inside.high + 1), 0.05);
}

TEST(TTests, of_equal_values_have_no_doubt) {
  const std::array flat{2.0, 2.0, 2.0};
  const std::array zero{0.0, 0.0};
  EXPECT_EQ(one_sample_t(flat).p, 0);
  EXPECT_TRUE(std::isinf(one_sample_t(flat).t));
  EXPECT_EQ(one_sample_t(zero).p, 1);
  EXPECT_EQ(welch_t(flat, flat).p, 1);
  EXPECT_EQ(equivalence_p(one_sample_t(flat), 1, 3), 0);
  EXPECT_EQ(equivalence_p(one_sample_t(flat), 3, 4), 1);
}

}  // namespace
}  // namespace warpmark::stats
