#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/random.h"
#include "workloads/run_workload.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/inputs.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/token_split.h"

namespace warpmark::workloads {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> fast_split(const std::vector<float>& relevance, std::int64_t budget) {
  std::vector<std::uint64_t> keys(relevance.size());
  std::vector<std::int32_t> tokens(relevance.size());
  vision::split_tokens_fast(relevance, budget, keys, tokens);
  return tokens;
}

void expect_valid_split(const std::vector<float>& relevance, std::int64_t budget) {
  const auto tokens = vision::split_tokens(relevance, budget);
  const auto n = static_cast<std::int64_t>(relevance.size());
  EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}), std::min(budget, 400 * n));
  EXPECT_THAT(tokens, Each(testing::AllOf(testing::Ge(64), testing::Le(400))));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      if (relevance[i] > relevance[j]) {
        ASSERT_GE(tokens[i], tokens[j]);
      }
      if (relevance[i] == relevance[j] && i < j) {
        ASSERT_GE(tokens[i], tokens[j]);
        ASSERT_LE(tokens[i] - tokens[j], 1);
      }
    }
  }
  EXPECT_EQ(fast_split(relevance, budget), tokens);
}

TEST(SplitTokens, sums_to_the_budget_within_bounds_and_monotone) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t n = 1 + stats::random_bits(seed, 0) % 70;
    std::vector<float> relevance(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double unit = 2 * stats::random_unit(seed, i + 1) - 1;
      // Some seeds are skewed so that many patches reach the cap, some have ties, the rest are plain.
      relevance[i] = static_cast<float>(seed % 3 == 0   ? std::pow(unit, 21)
                                        : seed % 3 == 1 ? std::round(4 * unit) / 4
                                                        : unit);
    }
    const auto least = static_cast<std::int64_t>(64 * n);
    const auto most = static_cast<std::int64_t>(400 * n);
    for (const std::int64_t budget :
         {least, least + 1, (3 * least + most) / 4, (least + most) / 2, most - 1, most, most + 9}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " n " << n << " budget " << budget);
      expect_valid_split(relevance, budget);
    }
  }
}

TEST(SplitTokens, shares_in_proportion_and_gives_the_rest_to_the_most_relevant) {
  // Shares 1 + 2^20 (1 + r): about 1 : 2 : 3 of 6 extra tokens per unit.
  EXPECT_THAT(vision::split_tokens(std::vector<float>{-0.5F, 0.0F, 0.5F}, 3 * 64 + 60), ElementsAre(74, 84, 94));
  EXPECT_THAT(vision::split_tokens(std::vector<float>{0.25F, 0.25F, 0.25F}, 3 * 64 + 5), ElementsAre(66, 66, 65));
}

TEST(SplitTokens, caps_and_passes_the_excess_on) {
  // The first would get 335.9 / 0.5 of the extra tokens: it is capped at 400 and the others share what is left.
  EXPECT_THAT(vision::split_tokens(std::vector<float>{1.0F, -1.0F, -1.0F}, 400 + 64 + 64 + 11),
              ElementsAre(400, 70, 69));
}

TEST(SplitTokens, follows_a_difference_too_small_for_the_shares) {
  const float r = 0.3F;
  const float more = std::nextafter(r, 1.0F);
  EXPECT_THAT(vision::split_tokens(std::vector<float>{r, more}, 129), ElementsAre(64, 65));
}

TEST(RelevanceReference, is_the_softmax_weighted_tension) {
  // Scores -1 and 1: mean 0, variance 1, z = -+1 / sqrt(1 + 1e-6).
  const std::vector<float> scores{-1, 1, -1, 1, -1, 1};
  const auto relevance = vision::relevance_reference(scores);
  double weights = 0;
  double sum = 0;
  for (int i = 0; i < vision::kOpponentPairs; ++i) {
    const auto& w = vision::kTensionWeights[i];
    const double t = std::tanh((w[0] + w[1] + w[2]) / std::sqrt(1 + 1e-6) + vision::kTensionBias[i]);
    weights += std::exp(std::fabs(t));
    sum += std::exp(std::fabs(t)) * t;
  }
  ASSERT_EQ(relevance.size(), 2U);
  EXPECT_NEAR(relevance[1], sum / weights, 1e-12);
}

TEST(RelevanceReference, does_not_depend_on_scale_and_offset) {
  std::vector<float> scores(3 * 50);
  vision::fill_perspectives(scores, 50, 9);
  auto moved = scores;
  for (auto& score : moved) score = 8 * score + 4;
  const auto a = vision::relevance_reference(scores);
  const auto b = vision::relevance_reference(moved);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST(OpponentBalance, is_right_for_all_kinds_of_shapes) {
  for (const auto& [n, budget] : std::vector<std::pair<const char*, const char*>>{{"1", "64"},
                                                                                  {"1", "500"},
                                                                                  {"2", "700"},
                                                                                  {"196", "12544"},
                                                                                  {"196", "39200"},
                                                                                  {"196", "78399"},
                                                                                  {"1000", "70000"}}) {
    test::expect_right_and_wrong_told_apart("opponent_balance", {{"batch", "5"}, {"n", n}, {"budget", budget}});
  }
}

TEST(OpponentBalance, fails_the_check_when_one_token_moves) {
  const vision::BalanceShape shape{.batch = 1, .n = 20, .budget = 4000};
  std::vector<float> scores(60);
  vision::fill_perspectives(scores, 20, 4);
  const auto exact = vision::relevance_reference(scores);
  std::vector<float> relevance(exact.begin(), exact.end());
  auto tokens = vision::split_tokens(relevance, shape.budget);
  const auto check = [&] {
    return vision::balance_check(shape, {.scores = scores, .relevance_out = relevance, .tokens_out = tokens});
  };
  EXPECT_LE(check().value, check().tolerance);
  ++tokens[3];
  --tokens[4];
  EXPECT_EQ(check().value, stats::kFailedError);
  --tokens[3];
  ++tokens[4];
  relevance[5] += 1e-3F;
  EXPECT_GT(check().value, check().tolerance);
  relevance[5] = std::nanf("");
  EXPECT_EQ(check().value, stats::kFailedError);
}

TEST(OpponentBalance, names_the_numbers_of_a_budget_too_small) {
  const auto small = test::cost_of("opponent_balance", {{"n", "100"}, {"budget", "6399"}});
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().kind, ErrorKind::usage);
  EXPECT_EQ(small.error().what, "budget is 6399 tokens, but 100 patches need at least 64 each: 6400");
  EXPECT_THAT(small.error().hint, HasSubstr("set budget to 6400 or more"));
  EXPECT_TRUE(test::cost_of("opponent_balance", {{"n", "100"}, {"budget", "6400"}}).ok());
}

}  // namespace
}  // namespace warpmark::workloads
