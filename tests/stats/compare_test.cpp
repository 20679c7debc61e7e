// Goldens from SciPy 1.10: t = ttest_ind(log(b), log(a), equal_var=False); interval from t.ppf and Welch's degrees.
#include "stats/tests/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stats/random.h"

namespace warpmark::stats {
namespace {

struct Rounds {
  std::vector<double> samples;
  std::vector<std::int64_t> sizes;
  Rounds(std::initializer_list<double> medians) {
    for (const double median : medians) {
      for (const double factor : {0.9, 1.0, 1.3}) samples.push_back(median * factor);
      sizes.push_back(3);
    }
  }
  operator Side() const { return {samples, sizes}; }
};

TEST(RoundMedians, follow_the_sizes) {
  const std::vector<double> samples = {3, 1, 2, 10, 20};
  const std::vector<std::int64_t> sizes = {3, 0, 2};
  EXPECT_EQ(round_medians({samples, sizes}), (std::vector<double>{2, 15}));
  const std::vector<std::int64_t> wrong = {3, 4};
  EXPECT_TRUE(round_medians({samples, wrong}).empty());
  const std::vector<std::int64_t> negative = {6, -1};
  EXPECT_TRUE(round_medians({samples, negative}).empty());
}

TEST(Compare, agrees_with_scipys_welch_test_on_logs) {
  const auto comparison = compare(Rounds{1.00, 1.02, 0.99}, Rounds{1.10, 1.13, 1.08});
  ASSERT_TRUE(comparison.p && comparison.ratio_interval);
  EXPECT_NEAR(*comparison.p, 0.005935419384936136, 1e-9);
  EXPECT_NEAR(comparison.ratio, 1.0995622954706332, 1e-9);
  EXPECT_NEAR(comparison.ratio_interval->low, 1.0495653197013146, 1e-9);
  EXPECT_NEAR(comparison.ratio_interval->high, 1.1519409215661927, 1e-9);
  EXPECT_EQ(comparison.difference, Difference::worse);

  const auto unequal = compare(Rounds{5.0, 5.2, 4.9, 5.1}, Rounds{5.3, 4.8, 5.2});
  EXPECT_NEAR(*unequal.p, 0.8002552013635459, 1e-9);
  EXPECT_NEAR(unequal.ratio, 1.0092263534335615, 1e-9);
  EXPECT_NEAR(unequal.ratio_interval->low, 0.9029012147411251, 1e-9);
  EXPECT_NEAR(unequal.ratio_interval->high, 1.1280722805947643, 1e-9);
  EXPECT_EQ(unequal.difference, Difference::indistinguishable);
}

TEST(Compare, follows_the_metrics_direction) {
  const Rounds slow{1.00, 1.02, 0.99}, fast{0.50, 0.52, 0.49};
  EXPECT_EQ(compare(slow, fast, {.better = Better::lower}).difference, Difference::better);
  EXPECT_EQ(compare(slow, fast, {.better = Better::higher}).difference, Difference::worse);
  EXPECT_EQ(compare(fast, slow, {.better = Better::higher}).difference, Difference::better);
  EXPECT_EQ(compare(slow, fast, {.better = Better::neither}).difference, Difference::different);
}

TEST(Compare, does_not_decide_with_too_few_rounds) {
  const auto comparison = compare(Rounds{1, 2, 3}, Rounds{9});
  EXPECT_EQ(comparison.difference, Difference::undecidable);
  EXPECT_EQ(comparison.reason, "the candidate has 1 round, at least 3 are needed to estimate the noise between rounds");
  EXPECT_FALSE(comparison.p || comparison.ratio_interval);
}

TEST(Compare, does_not_decide_on_values_without_a_ratio) {
  const auto zero = compare(Rounds{1, 1, 1}, Rounds{1, 0, 1});
  EXPECT_EQ(zero.difference, Difference::undecidable);
  EXPECT_EQ(zero.reason, "a round of the candidate has the median 0; a ratio needs values above 0");
  const std::vector<double> samples = {1, 2};
  const std::vector<std::int64_t> sizes = {1};
  EXPECT_EQ(compare(Side{samples, sizes}, Rounds{1, 1, 1}).reason,
            "the baseline's rounds have 1 samples together, but there are 2");
}

TEST(Compare, treats_rounds_without_any_noise_honestly) {
  const auto equal = compare(Rounds{0.1, 0.1, 0.1}, Rounds{0.1, 0.1, 0.1});
  EXPECT_EQ(equal.difference, Difference::indistinguishable);
  EXPECT_EQ(equal.ratio_interval, (Interval{1, 1, 0.95}));
  const auto three = compare(Rounds{0.1, 0.1, 0.1}, Rounds{0.2, 0.2, 0.2});
  EXPECT_EQ(three.difference, Difference::undecidable);
  EXPECT_DOUBLE_EQ(*three.p, 0.1);  // 2 / C(6, 3)
  EXPECT_NE(three.reason.find("4 rounds on each side"), std::string::npos);
  const auto four = compare(Rounds{0.1, 0.1, 0.1, 0.1}, Rounds{0.2, 0.2, 0.2, 0.2});
  EXPECT_DOUBLE_EQ(*four.p, 2.0 / 70);
  EXPECT_EQ(four.difference, Difference::worse);
}

TEST(Compare, takes_one_noisy_side_as_the_noise) {
  EXPECT_EQ(compare(Rounds{1, 1, 1}, Rounds{1.01, 0.99, 1.02}).difference, Difference::indistinguishable);
}

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02
TEST(Holm, adjusts_as_r_does) {
  const auto result = holm(std::vector<double>{0.01, 0.04, 0.03, 0.005}, 0.05);
  const double expected[] = {0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.adjusted[i], expected[i], 1e-12);
  EXPECT_EQ(result.rejected, (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(holm(std::vector<double>{0.9, 0.8}, 0.05).adjusted, (std::vector<double>{1, 1}));
  EXPECT_TRUE(holm({}, 0.05).adjusted.empty());
}

TEST(DecideTogether, takes_back_what_does_not_survive_many_comparisons) {
  std::vector<Comparison> comparisons;
  comparisons.push_back(compare(Rounds{1.00, 1.02, 0.99}, Rounds{1.10, 1.13, 1.08}));  // p = 0.006
  for (int i = 0; i < 9; ++i) comparisons.push_back(compare(Rounds{5.0, 5.2, 4.9}, Rounds{5.3, 4.8, 5.2}));
  comparisons.push_back(compare(Rounds{1, 1, 1}, Rounds{1}));
  ASSERT_EQ(comparisons[0].difference, Difference::worse);
  decide_together(comparisons);
  EXPECT_EQ(comparisons[0].difference, Difference::indistinguishable);
  EXPECT_NEAR(*comparisons[0].adjusted_p, 0.05935419384936136, 1e-9);
  EXPECT_FALSE(comparisons.back().adjusted_p.has_value());
  EXPECT_EQ(comparisons.back().difference, Difference::undecidable);
}

/// Rounds of a run of an unchanged program: a layout effect shared by a round, and smaller noise within it.
Rounds simulated_run(Random& random, int rounds) {
  std::lognormal_distribution<double> layout(0, 0.01), noise(0, 0.002);
  Rounds run{};
  for (int round = 0; round < rounds; ++round) {
    const double effect = layout(random);
    for (int i = 0; i < 15; ++i) run.samples.push_back(1e-3 * effect * noise(random));
    run.sizes.push_back(15);
  }
  return run;
}

TEST(Compare, calls_equal_runs_different_at_most_as_often_as_alpha) {
  constexpr int kTrials = 3000;
  for (const int rounds : {3, 5}) {
    Random random(99);
    int different = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto verdict = compare(simulated_run(random, rounds), simulated_run(random, rounds)).difference;
      different += verdict == Difference::better || verdict == Difference::worse ? 1 : 0;
    }
    const double share = static_cast<double>(different) / kTrials;
    EXPECT_LT(share, 0.05 + 4 * std::sqrt(0.05 * 0.95 / kTrials)) << rounds;
    EXPECT_GT(share, 0.01) << rounds;  // nor is it blind
  }
}

TEST(DecideTogether, calls_any_of_twenty_equal_metrics_different_at_most_as_often_as_alpha) {
  constexpr int kTrials = 400;
  Random random(17);
  int sessions_with_a_difference = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<Comparison> metrics;
    for (int metric = 0; metric < 20; ++metric) {
      metrics.push_back(compare(simulated_run(random, 3), simulated_run(random, 3)));
    }
    decide_together(metrics);
    bool any = false;
    for (const auto& metric : metrics) any = any || metric.difference != Difference::indistinguishable;
    sessions_with_a_difference += any ? 1 : 0;
  }
  EXPECT_LT(static_cast<double>(sessions_with_a_difference) / kTrials, 0.05 + 4 * std::sqrt(0.05 * 0.95 / kTrials));
}

TEST(Compare, finds_a_difference_that_is_there) {
  Random random(3);
  int found = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Rounds before = simulated_run(random, 3);
    Rounds after = simulated_run(random, 3);
    for (double& sample : after.samples) sample *= 1.10;  // ten times the noise between rounds
    found += compare(before, after).difference == Difference::worse ? 1 : 0;
  }
  EXPECT_GE(found, 190);
}

}  // namespace
}  // namespace warpmark::stats
