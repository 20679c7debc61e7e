#include "stats/tests/rank_and_t_tests.h"

#include <gtest/gtest.h>

namespace warpmark::stats {
namespace {

// SciPy 1.10: nct.sf(t.isf(0.025, n - 1), n - 1, sqrt(n) effect / sd) + nct.cdf(...).
TEST(PairedPower, agrees_with_scipys_noncentral_t) {
  EXPECT_NEAR(paired_power(10, 1, 1, 0.05), 0.8030968566475511, 1e-9);
  EXPECT_NEAR(paired_power(13, 1, 1, 0.05), 0.9107084757404267, 1e-9);
  EXPECT_NEAR(paired_power(30, 2, 1, 0.05), 0.7539647157437904, 1e-9);
  EXPECT_EQ(paired_power(10, 0, 1, 0.05), 1);
  EXPECT_EQ(paired_power(100, 0.001, 1, 0.05), 1);
}

TEST(PairsNeeded, are_the_fewest_with_the_power) {
  EXPECT_EQ(pairs_needed(1, 1, 1000), 13);  // 12 have 88.3 %
  EXPECT_EQ(pairs_needed(1, 0.001, 500), 500);
}

}  // namespace
}  // namespace warpmark::stats
