#include "validate/judge/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "validate/compare/compare_run.h"

namespace warpmark::validate {
namespace {

/// Rounds whose ratio B / A is `ratio`, give or take `spread` in turn.
MetricVerdict metric_with(double ratio, double spread, int rounds, Better better = Better::lower) {
  MetricVerdict metric{.id = "time", .unit = "s", .better = better};
  for (int i = 0; i < rounds; ++i) {
    const double machine = 1 + 0.1 * std::sin(i);
    metric.a.push_back(machine);
    metric.b.push_back(machine * ratio * std::exp(spread * (i % 2 == 0 ? 1 : -1)));
  }
  return metric;
}

MetricVerdict judged(MetricVerdict metric, const VerdictOptions& options = {}) {
  judge(std::span(&metric, 1), options);
  return metric;
}

TEST(Verdict, follows_the_metrics_direction) {
  EXPECT_EQ(judged(metric_with(1.1, 0.01, 20)).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_with(0.9, 0.01, 20)).verdict, Verdict::better);
  EXPECT_EQ(judged(metric_with(1.1, 0.01, 20, Better::higher)).verdict, Verdict::better);
  EXPECT_EQ(judged(metric_with(1.1, 0.01, 20, Better::neither)).verdict, Verdict::different);
}

TEST(Verdict, is_same_where_no_difference_that_matters_is_left) {
  EXPECT_EQ(judged(metric_with(1.0, 0.005, 30)).verdict, Verdict::same);
  EXPECT_EQ(judged(metric_with(1.003, 0.001, 30)).verdict, Verdict::same) << "certain, but too small to matter";
  EXPECT_EQ(judged(metric_with(1.0, 0.05, 30)).verdict, Verdict::inconclusive);
}

TEST(Verdict, is_not_same_where_a_few_rounds_are_far_slower) {
  auto metric = metric_with(1.0, 0.001, 30);
  for (const std::size_t i : {3U, 9U, 16U, 22U}) metric.b[i] *= 3;
  const auto verdict = judged(metric);
  EXPECT_EQ(verdict.verdict, Verdict::inconclusive);
  EXPECT_NE(verdict.reason.find("move the mean by +15."), std::string::npos) << verdict.reason;
}

TEST(Verdict, says_how_many_more_rounds_would_decide) {
  const auto few = judged(metric_with(1.0, 0.01, 4));
  EXPECT_EQ(few.verdict, Verdict::inconclusive);
  EXPECT_NE(few.reason.find("at least 7"), std::string::npos) << few.reason;
  const auto noisy = judged(metric_with(1.0, 0.02, 30));
  ASSERT_TRUE(noisy.more_rounds);
  EXPECT_EQ(judged(metric_with(1.0, 0.02, 30 + static_cast<int>(*noisy.more_rounds))).verdict, Verdict::same);
}

TEST(Verdict, advises_only_effects_that_somebody_may_want_to_know) {
  // Rounds differ by a factor of twenty: neither rounds nor a sensible effect decide this.
  const auto wild = judged(metric_with(1.0, 1.5, 12), {.affordable_rounds = 12});
  EXPECT_EQ(wild.verdict, Verdict::inconclusive);
  EXPECT_EQ(wild.reason.find("--effect"), std::string::npos) << wild.reason;
  EXPECT_EQ(wild.reason.find("e+"), std::string::npos) << wild.reason;
  EXPECT_NE(wild.reason.find("quieter machine"), std::string::npos) << wild.reason;
  const auto noisy = judged(metric_with(1.0, 0.15, 12), {.affordable_rounds = 12});
  EXPECT_NE(noisy.reason.find("use --effect"), std::string::npos) << noisy.reason;
}

TEST(Verdict, of_equal_ratios_needs_as_many_rounds_as_signs_need) {
  EXPECT_EQ(judged(metric_with(1.05, 0, 6)).verdict, Verdict::inconclusive);
  EXPECT_EQ(judged(metric_with(1.05, 0, 7)).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_with(1, 0, 7)).verdict, Verdict::same);
}

TEST(Verdict, has_numbers_for_an_interval_wider_than_numbers_are) {
  MetricVerdict metric{.id = "time", .unit = "s"};
  for (int i = 0; i < 10; ++i) {
    metric.a.push_back(1);
    metric.b.push_back(i % 2 == 0 ? 1e100 : 1e-100);
  }
  metric = judged(metric);
  EXPECT_EQ(metric.verdict, Verdict::inconclusive);
  ASSERT_TRUE(metric.interval);
  EXPECT_TRUE(std::isfinite(metric.interval->high)) << metric.interval->high;
  EXPECT_GT(metric.interval->low, 0);
}

TEST(Verdict, has_no_ratio_of_values_that_are_not_above_zero) {
  auto metric = metric_with(1, 0.01, 10);
  metric.b[3] = 0;
  metric = judged(metric);
  EXPECT_EQ(metric.verdict, Verdict::inconclusive);
  EXPECT_FALSE(metric.ratio);
  EXPECT_NE(metric.reason.find("B has the value 0"), std::string::npos) << metric.reason;
  EXPECT_EQ(judged(MetricVerdict{.id = "none"}).verdict, Verdict::inconclusive);
}

TEST(Verdict, adjusts_p_over_all_metrics) {
  std::vector<MetricVerdict> metrics(4, metric_with(1.02, 0.024, 24));
  judge(std::span(metrics).first(1), {}, false);
  ASSERT_LE(*metrics[0].p, 0.05);
  ASSERT_GT(*metrics[0].p, 0.0125);
  EXPECT_EQ(metrics[0].verdict, Verdict::worse);
  judge(metrics, {}, false);
  EXPECT_NEAR(*metrics[0].adjusted_p, 4 * *metrics[0].p, 1e-12);
  EXPECT_EQ(metrics[0].verdict, Verdict::inconclusive);
}

TEST(Verdict, of_unpaired_values_is_by_welchs_test) {
  MetricVerdict metric{.id = "time", .a = {1.0, 1.01, 0.99}, .b = {1.2, 1.21, 1.19}};
  metric = judged(metric, {.paired = false, .sequential = false});
  EXPECT_EQ(metric.verdict, Verdict::worse);
  EXPECT_NEAR(*metric.ratio, 1.2, 0.01);
  metric.a = {1, 1};
  EXPECT_EQ(judged(metric, {.paired = false, .sequential = false}).verdict, Verdict::inconclusive);
}

TEST(Verdict, comes_with_the_tests_that_others_would_use) {
  const auto metric = judged(metric_with(1.1, 0.02, 20));
  std::vector<std::string> names;
  for (const auto& test : metric.tests) {
    names.push_back(test.name);
    if (test.estimate) {
      EXPECT_NEAR(*test.estimate, 1.1, 0.05) << test.name;
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"mann_whitney", "median_ratio_bca", "welch_t_log", "paired_t_log",
                                             "wilcoxon_signed_rank", "equivalence_tost"}));
}

TEST(Calibrate, tells_the_noise_of_equal_variants) {
  Comparison comparison;
  comparison.metrics.push_back(judged(metric_with(1.0, 0.02, 30)));
  const auto calibrations = calibrate(comparison, {});
  ASSERT_EQ(calibrations.size(), 1U);
  EXPECT_NEAR(calibrations[0].spread, 0.02, 0.001);
  EXPECT_LE(calibrations[0].false_positive_rate, 0.06);
  EXPECT_GT(calibrations[0].detectable, 0.01);
  EXPECT_GT(calibrations[0].rounds_for_effect, 30);
}

}  // namespace
}  // namespace warpmark::validate
