// Goldens: the examples in the documentation of the measures' own program (TCPDBench, analysis/scripts/metrics.py).
#include "stats/segmentation_score.h"

#include <gtest/gtest.h>

namespace warpmark::stats {
namespace {

TEST(F1Score, agrees_with_the_published_program) {
  EXPECT_NEAR(f1_score({{10, 20}, {11, 20}, {10}, {0, 5}}, {10, 20}), 1, 1e-12);
  EXPECT_NEAR(f1_score({{}, {10}, {50}}, {10}), 0.9090909090909091, 1e-12);
  EXPECT_NEAR(f1_score({{}, {10}, {50}}, {}), 0.8, 1e-12);
}

TEST(F1Score, counts_a_found_place_once) {
  EXPECT_EQ(matched({1, 10, 20, 23}, {3, 8, 20}, 5), 3);
  EXPECT_EQ(matched({1, 10, 20, 23}, {1, 3, 5, 8, 20}, 5), 3);
  EXPECT_EQ(matched({}, {1, 2}, 5), 0);
  EXPECT_EQ(matched({1, 2}, {}, 5), 0);
}

TEST(Covering, agrees_with_the_published_program) {
  EXPECT_NEAR(covering({{10, 20}, {10}, {0, 5}}, {10, 20}, 45), 0.7962962962962963, 1e-12);
  EXPECT_NEAR(covering({{}, {10}, {40}}, {10}, 45), 0.7954144620811286, 1e-12);
  EXPECT_NEAR(covering({{}, {10}, {40}}, {}, 45), 0.8189300411522634, 1e-12);
}

}  // namespace
}  // namespace warpmark::stats
