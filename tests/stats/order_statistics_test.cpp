// Goldens from SciPy 1.10.
#include "stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace warpmark::stats {
namespace {

struct Row {
  std::int64_t n;
  double p;
  double confidence;
  RankInterval ranks;
};

// k = max(k for k in range(1, n//2 + 1) if 1 - 2*binom.cdf(k-1, n, .5) >= confidence)
TEST(MedianRanks, are_those_of_the_binomial_table) {
  constexpr Row kRows[] = {
      {6, 0.5, 0.95, {1, 6, 0.96875}},
      {9, 0.5, 0.95, {2, 8, 0.9609375}},
      {10, 0.5, 0.95, {2, 9, 0.978515625}},
      {15, 0.5, 0.95, {4, 12, 0.96484375}},
      {20, 0.5, 0.95, {6, 15, 0.9586105346679688}},
      {25, 0.5, 0.95, {8, 18, 0.9567147493362427}},
      {50, 0.5, 0.95, {18, 33, 0.9671608624357315}},
      {100, 0.5, 0.95, {40, 61, 0.9647997997822951}},
      {1000, 0.5, 0.95, {469, 532, 0.9537088026395019}},
      {8, 0.5, 0.99, {1, 8, 0.9921875}},
      {30, 0.5, 0.99, {8, 23, 0.9947771206498146}},
      {100, 0.5, 0.99, {37, 64, 0.9933628794840739}},
  };
  for (const auto& row : kRows) {
    const auto ranks = median_ranks(row.n, row.confidence);
    ASSERT_TRUE(ranks.has_value()) << row.n;
    EXPECT_EQ(ranks->low, row.ranks.low) << row.n;
    EXPECT_EQ(ranks->high, row.ranks.high) << row.n;
    EXPECT_NEAR(ranks->confidence, row.ranks.confidence, 1e-9) << row.n;
  }
}

TEST(MedianRanks, are_absent_where_the_extremes_do_not_cover_enough) {
  for (std::int64_t n = 0; n <= 5; ++n) EXPECT_FALSE(median_ranks(n, 0.95).has_value()) << n;
  EXPECT_FALSE(median_ranks(7, 0.99).has_value());
  EXPECT_TRUE(median_ranks(8, 0.99).has_value());
}

TEST(MedianRanks, accept_a_coverage_that_equals_the_demand) {
  const auto ranks = median_ranks(5, 0.9375);  // 1 - 2/32
  ASSERT_TRUE(ranks.has_value());
  EXPECT_EQ(ranks->low, 1);
}

TEST(MedianRanks, are_narrowest_and_wide_enough_for_every_size) {
  for (std::int64_t n = 6; n <= 2000; ++n) {
    const auto ranks = median_ranks(n, 0.95);
    ASSERT_TRUE(ranks.has_value());
    ASSERT_EQ(ranks->low + ranks->high, n + 1);
    ASSERT_GE(ranks->confidence, 0.95 - 1e-12) << n;
    // P(B = low) on both sides is what the next narrower interval would lose.
    const double count = static_cast<double>(n), k = static_cast<double>(ranks->low);
    const double mass =
        std::exp(std::lgamma(count + 1) - std::lgamma(k + 1) - std::lgamma(count - k + 1) - count * std::log(2.0));
    if (ranks->low < n / 2) {
      ASSERT_LT(ranks->confidence - 2 * mass, 0.95) << n;
    }
  }
}

// Brute force over all (low, high) with binom.cdf(high-1, n, p) - binom.cdf(low-1, n, p) >= 0.95.
TEST(QuantileRanks, are_the_fewest_that_cover) {
  constexpr Row kRows[] = {
      {29, 0.90, 0.95, {21, 29, 0.951348526189385}},     {100, 0.90, 0.95, {84, 96, 0.955690107191223}},
      {59, 0.95, 0.95, {50, 59, 0.9508618638358861}},    {200, 0.95, 0.95, {184, 197, 0.9671521638567256}},
      {299, 0.99, 0.95, {289, 299, 0.9502063034560694}}, {1000, 0.99, 0.95, {984, 997, 0.9635363098183776}},
  };
  for (const auto& row : kRows) {
    const auto ranks = quantile_ranks(row.n, row.p, row.confidence);
    ASSERT_TRUE(ranks.has_value()) << row.n;
    EXPECT_EQ(ranks->high - ranks->low, row.ranks.high - row.ranks.low) << row.n << " " << row.p;
    EXPECT_EQ(ranks->low, row.ranks.low) << row.n << " " << row.p;
    EXPECT_NEAR(ranks->confidence, row.ranks.confidence, 1e-9) << row.n << " " << row.p;
  }
}

// Wilks (1941): the sample must reach beyond the quantile on both sides.
TEST(SamplesNeeded, are_the_published_sizes) {
  EXPECT_EQ(samples_needed(0.5, 0.95), 6);
  EXPECT_EQ(samples_needed(0.5, 0.99), 8);
  EXPECT_EQ(samples_needed(0.9, 0.95), 29);
  EXPECT_EQ(samples_needed(0.95, 0.95), 59);
  EXPECT_EQ(samples_needed(0.99, 0.95), 299);
  EXPECT_EQ(samples_needed(0.95, 0.99), 90);
  EXPECT_EQ(samples_needed(0.01, 0.95), 299);
}

TEST(SamplesNeeded, is_where_the_interval_begins_to_exist) {
  for (const double p : {0.1, 0.5, 0.9, 0.95, 0.99}) {
    const auto needed = samples_needed(p, 0.95);
    EXPECT_FALSE(quantile_ranks(needed - 1, p, 0.95).has_value()) << p;
    const auto ranks = quantile_ranks(needed, p, 0.95);
    ASSERT_TRUE(ranks.has_value()) << p;
    EXPECT_GE(ranks->confidence, 0.95 - 1e-12) << p;
    EXPECT_GE(ranks->low, 1);
    EXPECT_LE(ranks->high, needed);
  }
}

// numpy.percentile(np.arange(1, 41)**1.5, 90)
TEST(QuantileOfSorted, interpolates_as_numpy_does) {
  std::vector<double> sorted;
  for (int i = 1; i <= 40; ++i) sorted.push_back(std::pow(i, 1.5));
  EXPECT_NEAR(quantile_of_sorted(sorted, 0.9), 216.90622136210342, 1e-9);
  EXPECT_EQ(quantile_of_sorted(sorted, 0), sorted.front());
  EXPECT_EQ(quantile_of_sorted(sorted, 1), sorted.back());
}

}  // namespace
}  // namespace warpmark::stats
