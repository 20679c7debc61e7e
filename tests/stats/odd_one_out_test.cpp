#include "stats/tests/odd_one_out.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::stats {
namespace {

TEST(OddOneOut, is_the_deleted_t_test_where_nothing_is_trimmed) {
  // The last value against the mean 10 and standard deviation of the four others: t with 3 degrees of freedom.
  const std::vector<double> values{9.9, 10.1, 9.8, 10.2, 10.5};
  const OddOneOutTest test(values.size());
  const auto odd = test.judge(values);
  const double scale = std::sqrt((0.01 + 0.01 + 0.04 + 0.04) / 3) * std::sqrt(1.25);
  EXPECT_NEAR(odd.t[4], 0.5 / scale, 1e-9);
  // Trimming makes the tail a little heavier than Student's.
  EXPECT_NEAR(odd.p[4], t_tail(odd.t[4], 3), 0.04);
  EXPECT_GE(odd.p[4], t_tail(odd.t[4], 3) - 0.002);
}

TEST(OddOneOut, sees_two_outliers_that_inflate_the_spread_together) {
  const std::vector<double> values{1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.5, 1.51};
  const auto odd = OddOneOutTest(values.size()).judge(values);
  EXPECT_EQ(odd.kept, 6U);
  EXPECT_LT(odd.p[6], 1e-4);
  EXPECT_LT(odd.p[7], 1e-4);
  EXPECT_GT(odd.p[3], 0.05);
}

TEST(OddOneOut, believes_no_spread_below_the_floor) {
  const std::vector<double> values{1, 1, 1, 1, 1.01};
  const OddOneOutTest test(values.size());
  EXPECT_LT(test.judge(values).p[4], 1e-5);
  EXPECT_GT(test.judge(values, 0.02).p[4], 0.2);
}

TEST(OddOneOut, calls_equal_things_odd_as_often_as_it_says) {
  for (const std::size_t n : {3U, 4U, 6U, 20U}) {
    const OddOneOutTest test(n);
    int below = 0, all = 0;
    std::vector<double> sample(n);
    for (std::uint64_t set = 0; all < 20'000; ++set) {
      const auto seed = derive_seed(99, set);  // another sequence than that of the simulation
      for (std::size_t i = 0; i < n; ++i) sample[i] = normal_quantile(random_unit(seed, i) * 0.999999 + 5e-7);
      for (const double p : test.judge(sample).p) {
        below += p <= 0.01 ? 1 : 0;
        ++all;
      }
    }
    // One in a hundred, within four standard errors of so many values.
    EXPECT_NEAR(below / 20'000.0, 0.01, 0.003) << n;
  }
}

TEST(OddOneOut, tells_the_distance_that_a_p_needs) {
  const OddOneOutTest test(8);
  const auto rare = test.distance(1e-4), common = test.distance(0.05);
  ASSERT_TRUE(rare && common);
  EXPECT_GT(*rare, *common);
  EXPECT_GT(*common, 1.64);
  EXPECT_FALSE(test.distance(1e-9).has_value());
}

}  // namespace
}  // namespace warpmark::stats
