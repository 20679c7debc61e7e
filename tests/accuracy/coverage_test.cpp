// What intervals and tests promise, counted over seeded simulations. The bounds are those of the binomial counts at the
// number of simulations, so that the same seeds always pass.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "accuracy/significance/intervals.h"
#include "accuracy/significance/paired.h"
#include "stats/random.h"

namespace warpmark::accuracy {
namespace {

using stats::Random;

double unit_draw(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// A skewed score of a sentence, mean 1.
double skewed_draw(Random& random) { return -std::log(1 - unit_draw(random)); }

TEST(Coverage, of_wilsons_interval_is_ninety_five_percent) {
  constexpr int kSimulations = 4000, kExamples = 200;
  for (const double p : {0.3, 0.5, 0.8}) {
    Random random(11);
    int covered = 0;
    for (int i = 0; i < kSimulations; ++i) {
      int right = 0;
      for (int k = 0; k < kExamples; ++k) right += unit_draw(random) < p;
      const auto interval = wilson(right, kExamples);
      covered += interval.low <= p && p <= interval.high;
    }
    EXPECT_NEAR(static_cast<double>(covered) / kSimulations, 0.95, 0.015) << p;
  }
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
    std::int64_t broken = 0, mended = 0;
    for (std::size_t k = 0; k < kExamples; ++k) {
      broken += a[k] > b[k];
      mended += a[k] < b[k];
    }
    const Groups groups(kExamples);
    const ResampleOptions options{.resamples = 200, .seed = static_cast<std::uint64_t>(i)};
    by_mcnemar += mcnemar(broken, mended).p <= 0.05;
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
