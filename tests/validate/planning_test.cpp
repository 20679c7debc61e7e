// How many rounds are asked for. That they suffice is counted in simulation_test.cpp.
#include "validate/judge/planning.h"

#include <gtest/gtest.h>

#include <cmath>

namespace warpmark::validate {
namespace {

const double kLimit = std::log1p(VerdictOptions{}.effect);

Effect standing(std::int64_t n, double log_ratio, double stdev) {
  return {.n = n,
          .log_ratio = log_ratio,
          .stdev = stdev,
          .worth_stdev = stdev,
          .interval = std::nullopt,
          .p = std::nullopt,
          .undefined = {}};
}

TEST(RoundsNeeded, grow_with_the_square_of_the_noise) {
  const auto n = rounds_needed(0.02, 0.01, {});
  EXPECT_NEAR(static_cast<double>(rounds_needed(0.04, 0.01, {})) / static_cast<double>(n), 4.5, 1);
  EXPECT_LT(rounds_needed(0.02, 0.01, {.sequential = false}), n);
  EXPECT_NEAR(detectable_effect(0.02, n, {}), 0.01, 0.001);
}

// Of many rounds, whose spread is as good as known, the interval and a wandering of 1.645 standard errors to either
// side just fit into the distance. Few need somewhat more.
TEST(RoundsNeeded, leave_room_for_the_interval_and_the_wandering_of_the_mean) {
  const auto reach = [](std::int64_t n, double stdev) {
    return half_width(n, stdev, {}) + 1.6448536 * stdev / std::sqrt(static_cast<double>(n));
  };
  const auto many = rounds_needed(0.2, 0.01, {});
  EXPECT_NEAR(reach(many, 0.2), 0.01, 0.01 * 0.002);
  const auto few = rounds_needed(0.01, 0.01, {});
  EXPECT_LT(reach(few, 0.01), 0.01);
  EXPECT_GT(reach(few - 4, 0.01), 0.01);
}

TEST(RoundsNeeded, are_more_where_the_spread_is_estimated) {
  const auto known = rounds_needed(0.02, 0.01, {});
  const auto roughly = rounds_needed(0.02, 0.01, {}, 9), better = rounds_needed(0.02, 0.01, {}, 60);
  EXPECT_GT(roughly, better);
  EXPECT_GT(better, known);
  EXPECT_EQ(rounds_needed(0.02, 0.01, {}, 1), rounds_needed(0.02, 0.01, {}, 2)) << "too few to tell, alike";
}

TEST(RoundsToDecide, are_most_in_the_middle_between_nothing_and_what_matters) {
  const auto at = [](double log_ratio) { return rounds_to_decide(standing(60, log_ratio, 0.03), 1, {}).as_measured; };
  EXPECT_GT(at(kLimit / 2), at(0));
  EXPECT_GT(at(kLimit / 2), at(2 * kLimit));
  EXPECT_EQ(at(kLimit / 3), at(-kLimit / 3));
  EXPECT_GT(at(0), 60);
}

// As soon as the interval is no wider than half of what matters, there is a verdict wherever the estimate ends.
TEST(RoundsToDecide, are_never_more_than_decide_anything) {
  const Effect effect = standing(1000, kLimit / 2, 0.02);
  const auto n = rounds_to_decide(effect, 1, {}).as_measured;
  EXPECT_LE(half_width(n + n / 20, 0.02, {}), kLimit / 2);
}

// Few rounds of great noise: what looks like 10 % may be nothing, and to rule out 1 % takes far more.
TEST(RoundsToDecide, are_enough_for_equal_variants_while_these_are_possible) {
  Effect effect = standing(12, 0.1, 0.27);
  effect.p = 0.2;
  const auto open = rounds_to_decide(effect, 1, {});
  EXPECT_GE(open.either_way, rounds_needed(0.27, kLimit, {}, 11));
  EXPECT_LT(open.as_measured, open.either_way / 10);
  effect.p = 0.001;
  EXPECT_EQ(rounds_to_decide(effect, 1, {}).either_way, rounds_to_decide(effect, 1, {}).as_measured);
}

TEST(RoundsToDecide, grow_slowly_with_the_number_of_metrics) {
  const auto over = [](std::int64_t metrics) {
    return rounds_to_decide(standing(20, 2 * kLimit, 0.04), metrics, {}).as_measured;
  };
  EXPECT_GT(over(10), over(1));
  EXPECT_LT(over(100), 3 * over(1));
}

}  // namespace
}  // namespace warpmark::validate
