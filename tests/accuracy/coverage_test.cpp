// What intervals and tests promise, counted over seeded simulations. The bounds are those of the binomial counts at the
// number of simulations, so that the same seeds always pass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "accuracy/significance/intervals.h"
#include "stats/random.h"

namespace warpmark::accuracy {
namespace {

using stats::Random;

double unit_draw(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// A skewed score of a sentence, mean 1.
double skewed_draw(Random& random) { return -std::log(1 - unit_draw(random)); }

double log_factorial(std::int64_t n) { return std::lgamma(static_cast<double>(n) + 1); }

double power_of(double p, std::int64_t k) { return k == 0 ? 1 : std::pow(p, static_cast<double>(k)); }

/// Summed exactly over all outcomes.
TEST(Coverage, of_a_share_is_never_below_what_it_says) {
  for (const std::int64_t n : {5, 20, 50, 200}) {
    std::vector<Interval> intervals;
    for (std::int64_t k = 0; k <= n; ++k) {
      intervals.push_back(clopper_pearson(static_cast<double>(k), static_cast<double>(n), 0.95));
    }
    for (int step = 1; step < 400; ++step) {
      const double p = step / 400.0;
      double covered = 0;
      for (std::int64_t k = 0; k <= n; ++k) {
        const auto& interval = intervals[static_cast<std::size_t>(k)];
        if (p < interval.low || p > interval.high) continue;
        covered += std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k)) * power_of(p, k) *
                   power_of(1 - p, n - k);
      }
      EXPECT_GE(covered, 0.95 - 1e-9) << n << " " << p;
    }
  }
}

/// Shares of pairs that are right in one system alone; few, as between nearly equal systems, and many.
std::vector<double> discordant_shares(std::int64_t n) {
  std::vector<double> shares{0, 0.3, 0.5, 0.7, 0.9};
  for (const double pairs : {0.05, 0.2, 0.5, 0.8, 1.3, 2.0, 3.0, 4.0, 6.0, 9.0}) {
    if (pairs / static_cast<double>(n) < 0.9) shares.push_back(pairs / static_cast<double>(n));
  }
  return shares;
}

struct PairCoverage {
  double both = 0;   ///< by the interval of 95 %
  double above = 0;  ///< the difference is above the lower end of the interval of 90 %
};

/// Summed exactly over all counts that have a probability worth summing.
PairCoverage pair_coverage(std::int64_t n, double first, double second,
                           const std::function<std::pair<Interval, Interval>(McNemar)>& intervals) {
  PairCoverage coverage;
  const double difference = second - first, neither = 1 - first - second;
  for (std::int64_t b = 0; b <= n; ++b) {
    for (std::int64_t c = 0; b + c <= n; ++c) {
      const double chance =
          std::exp(log_factorial(n) - log_factorial(b) - log_factorial(c) - log_factorial(n - b - c)) *
          power_of(first, b) * power_of(second, c) * power_of(neither, n - b - c);
      if (chance < 1e-9) continue;
      const auto [wide, narrow] = intervals({.only_first = b, .only_second = c});
      if (wide.low <= difference && difference <= wide.high) coverage.both += chance;
      if (narrow.low <= difference) coverage.above += chance;
    }
  }
  return coverage;
}

TEST(Coverage, of_a_paired_difference_is_never_below_what_it_says) {
  for (const std::int64_t n : {3, 5, 10, 40}) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<Interval, Interval>> known;
    const auto intervals = [&](McNemar pairs) {
      const auto [at, is_new] = known.try_emplace({pairs.only_first, pairs.only_second});
      if (is_new) at->second = {paired_share_interval(pairs, n, 0.95), paired_share_interval(pairs, n, 0.9)};
      return at->second;
    };
    for (const double first : discordant_shares(n)) {
      for (const double second : discordant_shares(n)) {
        if (first + second >= 1) continue;
        const auto coverage = pair_coverage(n, first, second, intervals);
        EXPECT_GE(coverage.both, 0.945) << n << " " << first << " " << second;
        EXPECT_GE(coverage.above, 0.945) << n << " " << first << " " << second;
      }
    }
  }
}

/// Five equal answers: a loss of 0.4 is as likely as not to show none.
TEST(Coverage, of_equal_answers_leaves_a_difference_possible) {
  const auto five = paired_share_interval({}, 5, 0.9);
  EXPECT_LT(five.low, -0.3);
  EXPECT_GT(five.high, 0.3);
  EXPECT_DOUBLE_EQ(five.low, -five.high);
  EXPECT_GT(paired_share_interval({}, 10'000, 0.9).low, -0.001);
  EXPECT_NEAR(unseen_mean(5, 0.95), 1 - std::pow(0.025, 0.2), 1e-12);
}

TEST(Coverage, of_the_bootstrap_is_ninety_five_percent_for_means_and_ratios) {
  constexpr int kSimulations = 1000;
  constexpr std::size_t kExamples = 100;
  Random random(5);
  int of_mean = 0, of_ratio = 0;
  for (int i = 0; i < kSimulations; ++i) {
    std::vector<double> each, sums;
    for (std::size_t k = 0; k < kExamples; ++k) {
      each.push_back(skewed_draw(random) + skewed_draw(random));
      const double length = 10 + 20 * unit_draw(random);
      sums.push_back(length * (0.2 + 0.2 * unit_draw(random)));  // edits: 0.3 of the length
      sums.push_back(length);
    }
    const ResampleOptions options{.resamples = 400, .seed = static_cast<std::uint64_t>(i)};
    const auto mean = interval_of(mean_metric(kExamples, 1, each), 0, Groups(kExamples), options);
    of_mean += mean.low <= 2 && 2 <= mean.high;
    const auto measured = sum_metric(
        kExamples, 1, sums, [](std::span<const double> s) { return s[0] / s[1]; }, false);
    const auto ratio = interval_of(measured, 0, Groups(kExamples), options);
    of_ratio += ratio.low <= 0.3 && 0.3 <= ratio.high;
  }
  EXPECT_NEAR(of_mean / 1000.0, 0.95, 0.015);
  EXPECT_NEAR(of_ratio / 1000.0, 0.95, 0.015);
}

TEST(Coverage, of_the_clustered_bootstrap_is_near_ninety_five_percent) {
  constexpr int kSimulations = 1000;
  constexpr std::size_t kClusters = 60, kEach = 5;
  Random random(8);
  int covered = 0;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < kClusters * kEach; ++c) names.push_back("g" + std::to_string(c / kEach));
  const Groups groups(names);
  for (int i = 0; i < kSimulations; ++i) {
    std::vector<double> each;
    for (std::size_t c = 0; c < kClusters; ++c) {
      const double passage = unit_draw(random);  // a share of right answers that all questions of a passage have
      for (std::size_t k = 0; k < kEach; ++k) each.push_back(unit_draw(random) < passage ? 1 : 0);
    }
    const auto interval = interval_of(mean_metric(each.size(), 1, each), 0, groups,
                                      {.resamples = 400, .seed = static_cast<std::uint64_t>(i)});
    covered += interval.low <= 0.5 && 0.5 <= interval.high;
  }
  EXPECT_NEAR(covered / 1000.0, 0.95, 0.015);
}

/// Two systems right with the same or another chance on items of varying difficulty; returns rows of both.
std::vector<double> paired_answers(Random& random, std::size_t n, double loss) {
  std::vector<double> rows(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const double difficulty = unit_draw(random);
    rows[i] = difficulty < 0.7 || unit_draw(random) < 0.1 ? 1 : 0;
    const bool lost = unit_draw(random) < loss;
    rows[n + i] = !lost && (difficulty < 0.7 || unit_draw(random) < 0.1) ? 1 : 0;
  }
  return rows;
}

TEST(PairedTests, call_equal_systems_different_in_at_most_five_percent) {
  constexpr int kSimulations = 1000;
  constexpr std::size_t kExamples = 150;
  Random random(21);
  int by_mcnemar = 0, by_t = 0, by_randomization = 0, by_bootstrap = 0;
  for (int i = 0; i < kSimulations; ++i) {
    const auto measured = mean_metric(kExamples, 2, paired_answers(random, kExamples, 0));
    const auto a = each_of(measured, 0), b = each_of(measured, 1);
    std::int64_t broken = 0, fixed = 0;
    for (std::size_t k = 0; k < kExamples; ++k) {
      broken += a[k] > b[k];
      fixed += a[k] < b[k];
    }
    const Groups groups(kExamples);
    const ResampleOptions options{.resamples = 200, .seed = static_cast<std::uint64_t>(i)};
    by_mcnemar += mcnemar(broken, fixed).p <= 0.05;
    by_t += paired_means(measured, 0, 1, groups, 0.95)->p <= 0.05;
    by_randomization += approximate_randomization(measured, 0, 1, groups, options) <= 0.05;
    by_bootstrap += paired_bootstrap(measured, 0, 1, groups, options).p <= 0.05;
  }
  constexpr int kMost = 64;  // 5 % and two standard deviations of the count
  EXPECT_LE(by_mcnemar, kMost);
  EXPECT_LE(by_t, kMost);
  EXPECT_LE(by_randomization, kMost);
  EXPECT_LE(by_bootstrap, kMost);
}

TEST(PairedTests, find_a_drop_of_one_hundredth_with_the_examples_they_ask_for) {
  // A pilot tells the spread of the differences; with n for 80 % power a drop of 0.01 is found in 80 %.
  constexpr double kLoss = 0.01 / 0.73;  // of the 73 % that are right
  Random random(31);
  constexpr std::size_t kPilot = 20'000;
  const auto pilot = mean_metric(kPilot, 2, paired_answers(random, kPilot, kLoss));
  const auto seen = paired_means(pilot, 0, 1, Groups(kPilot), 0.95);
  const auto needed = examples_for_power(0.01, seen->standard_error, kPilot);
  ASSERT_TRUE(needed.has_value());
  const auto n = static_cast<std::size_t>(*needed);
  constexpr int kSimulations = 400;
  int found = 0;
  for (int i = 0; i < kSimulations; ++i) {
    const auto measured = mean_metric(n, 2, paired_answers(random, n, kLoss));
    found += paired_means(measured, 0, 1, Groups(n), 0.95)->p <= 0.05;
  }
  EXPECT_NEAR(static_cast<double>(found) / kSimulations, 0.8, 0.05) << n << " examples";
}

}  // namespace
}  // namespace warpmark::accuracy
