// Pairs of times: as many as the effect needs.
#include "optimize/stages/pair_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace warpmark::optimize {
namespace {

TEST(PairTest, two_pairs_decide_a_threefold_gain) {
  const auto result = judge_pairs(std::vector{3.0, 3.1}, std::vector{1.0, 1.02}, 0.01, 0.05, kRunPrior);
  EXPECT_EQ(result.verdict, Verdict::better);
  EXPECT_NEAR(result.speedup.ratio, std::sqrt(3.0 * 3.1 / 1.02), 1e-9);
  EXPECT_GT(result.speedup.low, 2);
  EXPECT_LT(result.speedup.high, 4.5);
}

TEST(PairTest, two_pairs_do_not_decide_three_percent_and_twenty_do) {
  std::vector<double> before, after;
  for (int i = 0; i < 24; ++i) {
    before.push_back(1.03 + 0.01 * std::sin(i));
    after.push_back(1 + 0.01 * std::cos(3 * i));
    const auto result = judge_pairs(before, after, 0.01, 0.05, kRunPrior);
    if (i == 1) {
      EXPECT_EQ(result.verdict, Verdict::inconclusive);
      EXPECT_FALSE(result.futile);
    }
    if (i == 23) {
      EXPECT_EQ(result.verdict, Verdict::better);
    }
  }
}

TEST(PairTest, one_pair_decides_nothing_but_shows_what_is_far_slower) {
  EXPECT_EQ(judge_pairs(std::vector{3.0}, std::vector{1.0}, 0.01, 0.05, kRunPrior).verdict, Verdict::inconclusive);
  EXPECT_TRUE(judge_pairs(std::vector{1.0}, std::vector{1.5}, 0.01, 0.05, kRunPrior).futile);
  EXPECT_FALSE(judge_pairs(std::vector{1.0}, std::vector{1.1}, 0.01, 0.05, kRunPrior).futile);
}

TEST(PairTest, what_is_slower_is_worse) {
  EXPECT_EQ(judge_pairs(std::vector{1.0, 1.0}, std::vector{2.0, 2.1}, 0.01, 0.05, kRunPrior).verdict, Verdict::worse);
}

/// Sequential looks and the prior together: equal programs are called different no more often than alpha says, when
/// runs vary as much as the prior expects, and when they vary three times as much.
TEST(PairTest, equal_programs_are_seldom_called_faster) {
  for (const double spread : {0.05, 0.15}) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(0, spread / std::sqrt(2.0));
    int wrong = 0;
    constexpr int kTrials = 1000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> before, after;
      for (int pair = 0; pair < 12; ++pair) {
        before.push_back(std::exp(noise(random)));
        after.push_back(std::exp(noise(random)));
        const auto result = judge_pairs(before, after, 0.01, 0.05, kRunPrior);
        if (result.verdict == Verdict::better) {
          ++wrong;
          break;
        }
        if (result.verdict != Verdict::inconclusive) break;
      }
    }
    EXPECT_LE(wrong, kTrials * (spread > 0.1 ? 0.12 : 0.05)) << spread;
  }
}

}  // namespace
}  // namespace warpmark::optimize
