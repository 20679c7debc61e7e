// Checks against a history: what is worse, what is the history's own noise, and what cannot be told.
#include "validate/guard/regression.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/sanitized.h"
#include "validate/history_simulation.h"
#include "validate/noise_models.h"

namespace warpmark::validate {
namespace {

/// A quiet series: values differ by a fraction of a per cent, in no order.
MetricCheck metric_of(const std::vector<double>& history, const std::vector<double>& fresh,
                      Better better = Better::lower) {
  MetricCheck metric;
  metric.better = better;
  for (std::size_t i = 0; i < history.size(); ++i) {
    metric.baseline.push_back({.session = "h" + std::to_string(i), .n = 10, .value = history[i]});
  }
  for (const double value : fresh) metric.current.push_back({.session = "now", .n = 10, .value = value});
  return metric;
}

MetricCheck judged(MetricCheck metric, const RegressionOptions& options = {}) {
  judge_check(std::span(&metric, 1), options);
  return metric;
}

TEST(StepFrom, is_the_new_mean_less_the_level_of_the_newest_sessions) {
  const auto step = step_from(quiet(40), {}, std::vector<double>{1.1});
  ASSERT_EQ(step.undefined, "");
  EXPECT_EQ(step.level_sessions, 5);
  EXPECT_EQ(step.steps, 35);
  EXPECT_NEAR(std::exp(step.step), 1.1, 0.005);
  EXPECT_LT(step.p, 0.001);
  EXPECT_LT(step.largest, 0.01);
}

TEST(StepFrom, matches_the_t_test_computed_by_hand) {
  // Levels of three sessions (10 / 3), steps of logs: each the difference to the mean of the three before.
  const std::vector<double> logs{0, 0.01, -0.01, 0.02, 0, 0.01, -0.02, 0.01, 0, 0.01};
  std::vector<double> values;
  for (const double log : logs) values.push_back(std::exp(log));
  std::vector<double> steps;
  for (std::size_t i = 3; i < logs.size(); ++i)
    steps.push_back(logs[i] - (logs[i - 1] + logs[i - 2] + logs[i - 3]) / 3);
  double mean = 0, squares = 0, largest = 0;
  for (const double own : steps) mean += own / 7;
  for (const double own : steps) {
    squares += (own - mean) * (own - mean);
    largest = std::max(largest, std::fabs(own - mean));
  }
  const auto step = step_from(values, {}, std::vector<double>{std::exp(0.5)});
  EXPECT_EQ(step.steps, 7);
  EXPECT_NEAR(step.step, 0.5 - 0.02 / 3 - mean, 1e-12);
  EXPECT_NEAR(step.spread, std::sqrt(squares / 6), 1e-12);
  EXPECT_NEAR(step.error, step.spread * std::sqrt(8.0 / 7), 1e-12);
  EXPECT_NEAR(step.degrees, 6, 1e-12);
  // t is about 20: what the largest of seven steps allows is more than Student's tail.
  EXPECT_NEAR(step.p, std::pow(largest / step.step, 2) / 8, 1e-12);
}

TEST(StepFrom, believes_no_p_below_the_share_of_steps_as_large) {
  auto values = quiet(40);
  values[20] = 1.3;  // an outlier of the past
  const auto step = step_from(values, {}, std::vector<double>{1.2});
  EXPECT_NEAR(step.p, 2.0 / 36, 1e-12);
}

TEST(StepFrom, needs_history_and_says_how_much) {
  EXPECT_EQ(history_needed(1), 9);
  EXPECT_EQ(history_needed(3), 23);
  const auto step = step_from(quiet(8), {}, std::vector<double>{1});
  EXPECT_EQ(step.undefined, "8 sessions of history, 9 needed");
  EXPECT_TRUE(step.too_short);
  EXPECT_EQ(step_from(quiet(9), {}, std::vector<double>{1}).undefined, "");
  for (std::int64_t fresh = 1; fresh <= 10; ++fresh) {
    const std::vector<double> now(static_cast<std::size_t>(fresh), 1);
    for (std::int64_t more = 0; more < 12; ++more) {
      const auto past = history_needed(fresh) + more;
      EXPECT_EQ(step_from(quiet(static_cast<std::size_t>(past)), {}, now).undefined, "") << past << " + " << fresh;
    }
  }
  const std::int64_t recent[] = {38};
  EXPECT_EQ(step_from(quiet(40), recent, std::vector<double>{1}).undefined,
            "the level changed 2 sessions ago, 3 are needed since");
}

TEST(StepFrom, has_no_ratio_of_values_that_are_not_above_zero) {
  auto values = quiet(20);
  values[3] = 0;
  EXPECT_EQ(step_from(values, {}, std::vector<double>{1}).undefined, "values that are not above 0 have no ratio");
  EXPECT_EQ(step_from(quiet(20), {}, std::vector<double>{-1}).undefined, "values that are not above 0 have no ratio");
}

TEST(StepFrom, takes_the_order_alone_where_nothing_ever_varied) {
  const std::vector<double> constant(12, 4.0);
  EXPECT_EQ(step_from(constant, {}, std::vector<double>{4}).p, 1);
  EXPECT_NEAR(step_from(constant, {}, std::vector<double>{5}).p, 1.0 / 13, 1e-12);
  const std::vector<double> longer(23, 4.0);
  EXPECT_NEAR(step_from(longer, {}, std::vector<double>{5, 5}).p, 2.0 / (25 * 24), 1e-12);
}

TEST(JudgeCheck, needs_both_the_effect_and_the_significance) {
  EXPECT_EQ(judged(metric_of(quiet(30), {1.1})).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_of(quiet(30), {0.9})).verdict, Verdict::better);
  EXPECT_EQ(judged(metric_of(quiet(30), {1.03})).verdict, Verdict::same);  // certain, and below the threshold
  EXPECT_EQ(judged(metric_of(quiet(30), {1.03}), {.threshold = 0.01}).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_of(quiet(30), {1.1}, Better::higher)).verdict, Verdict::better);
  EXPECT_EQ(judged(metric_of(quiet(30), {0.9}, Better::higher)).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_of(quiet(30), {0.9}, Better::neither)).verdict, Verdict::different);
  std::vector<double> noisy;
  for (std::size_t i = 0; i < 30; ++i) noisy.push_back(1 + 0.1 * std::sin(static_cast<double>(i) * 2.4));
  const auto unsure = judged(metric_of(noisy, {1.1}));
  EXPECT_EQ(unsure.verdict, Verdict::inconclusive);
  EXPECT_NE(unsure.reason.find("worse, but sessions differ by"), std::string::npos) << unsure.reason;
}

TEST(JudgeCheck, never_passes_for_want_of_data) {
  const auto young = judged(metric_of(quiet(5), {1}));
  EXPECT_EQ(young.verdict, Verdict::inconclusive);
  EXPECT_EQ(young.reason, "5 sessions of history, 9 needed");
  EXPECT_EQ(judged(metric_of({}, {1})).verdict, Verdict::inconclusive);
  auto absent = metric_of(quiet(30), {});
  absent.reason = "the command failed";
  EXPECT_EQ(judged(absent).verdict, Verdict::inconclusive);
  EXPECT_EQ(judged(absent).reason, "the command failed");
  auto thin = metric_of(quiet(30), {1});
  thin.current[0].n = 1;
  EXPECT_EQ(judged(thin).reason, "1 sample where sessions of the history have 10");
}

TEST(JudgeCheck, starts_anew_after_an_accepted_change_and_says_so) {
  auto history = quiet(20);
  const auto slower = quiet(10, 1.2);
  history.insert(history.end(), slower.begin(), slower.end());
  const auto after = judged(metric_of(history, {1.2}));
  EXPECT_EQ(after.verdict, Verdict::same);
  ASSERT_TRUE(after.restart);
  EXPECT_EQ(after.restart->at.session, "h20");
  EXPECT_NEAR(after.restart->change, 0.2, 0.01);
  EXPECT_TRUE(after.restart->worse);
  EXPECT_EQ(after.restart->ago, 10);
  EXPECT_EQ(judged(metric_of(history, {1.32})).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_of(history, {1.0})).verdict, Verdict::better);  // the fix of what was accepted
}

TEST(JudgeCheck, adjusts_for_the_number_of_metrics) {
  const auto worse_of = [](std::size_t count) {
    std::vector<MetricCheck> metrics(count, metric_of(quiet(30), {1}));
    metrics[0] = metric_of(quiet(30), {1.055});
    judge_check(metrics, {});
    return metrics[0];
  };
  EXPECT_EQ(worse_of(1).verdict, Verdict::worse);
  const auto among = worse_of(400);
  EXPECT_EQ(among.verdict, Verdict::inconclusive);
  EXPECT_EQ(*among.adjusted_p, std::min(1.0, 400 * *among.p));
}

TEST(JudgeCheck, keeps_a_metric_unreliable) {
  auto metric = metric_of(quiet(30), {2});
  metric.verdict = Verdict::unreliable;
  metric.reason = "throttled";
  EXPECT_EQ(judged(metric).verdict, Verdict::unreliable);
  EXPECT_EQ(judged(metric).reason, "throttled");
}

TEST(JudgeCheck, tells_a_constant_metric_that_changed_after_one_more_session) {
  const std::vector<double> constant(23, 1e6);
  const auto once = judged(metric_of(std::vector<double>(12, 1e6), {1.2e6}));
  EXPECT_EQ(once.verdict, Verdict::inconclusive);
  EXPECT_EQ(once.more_runs, 1);
  EXPECT_EQ(judged(metric_of(constant, {1.2e6, 1.2e6})).verdict, Verdict::worse);
  EXPECT_EQ(judged(metric_of(constant, {1e6})).verdict, Verdict::same);
}

/// Three standard errors of a share of `trials` around `share`.
double margin_of(double share, int trials) { return 3 * std::sqrt(share * (1 - share) / trials); }

TEST(HistorySimulation, calls_unchanged_programs_worse_in_at_most_five_per_cent) {
  for (const Noise noise : kNoises) {
    for (const std::int64_t history : {12, 30, 60}) {
      for (const std::int64_t metrics : {1, 5}) {
        const HistorySimulation what{.noise = noise,
                                     .cv = 0.03,
                                     .history = history,
                                     .metrics = metrics,
                                     .check = {.threshold = 0.001},
                                     .trials = testing_support::trials(300)};
        EXPECT_LE(simulate_history(what).worse, 0.05 + margin_of(0.05, what.trials))
            << name_of(noise) << ", " << history << " sessions, " << metrics << " metrics";
      }
    }
  }
}

TEST(HistorySimulation, finds_what_it_should_with_the_sessions_it_asks_for) {
  for (const Noise noise : kNoises) {
    const auto needed = sessions_asked_for(noise, 0.02);
    ASSERT_TRUE(needed) << name_of(noise);
    HistorySimulation what{.noise = noise, .cv = 0.02, .fresh = *needed, .trials = testing_support::trials(300)};
    what.history = std::max<std::int64_t>(60, 2 * history_needed(*needed));
    what.check.most_history = what.history;
    EXPECT_GE(simulate_history(what).same, 0.9 - margin_of(0.9, what.trials)) << name_of(noise);
    what.true_ratio = 1.1025;
    EXPECT_GE(simulate_history(what).worse, 0.9 - margin_of(0.9, what.trials)) << name_of(noise);
    what.true_ratio = 1.05;
    EXPECT_LE(simulate_history(what).same, 0.05 + margin_of(0.05, what.trials)) << name_of(noise);
  }
}

TEST(HistorySimulation, forgets_an_accepted_change_and_finds_the_next) {
  for (const Noise noise : kNoises) {
    HistorySimulation what{.noise = noise, .cv = 0.01, .history = 40, .accepted = 1.2, .trials = 200};
    const auto unchanged = simulate_history(what);
    EXPECT_LE(unchanged.worse, 0.05) << name_of(noise);
    EXPECT_GE(unchanged.same, 0.9) << name_of(noise);
    what.true_ratio = 1.1;
    EXPECT_GE(simulate_history(what).worse, 0.9) << name_of(noise);
  }
}

TEST(HowToCompleteHistory, names_a_command_that_measures_the_same) {
  Check check;
  check.branch = "main";
  check.sessions = {"now"};
  check.metrics = {judged(metric_of({1, 1.01, 0.99}, {1}))};
  const std::string missing = "To complete the history, measure main 6 more times: ";
  EXPECT_EQ(how_to_complete_history(check, "warpmark run gemm"), missing + "warpmark run gemm");
  EXPECT_EQ(how_to_complete_history(check, "warpmark check --project bench.yaml --rounds 3"),
            missing + "warpmark run --project bench.yaml");
  EXPECT_EQ(how_to_complete_history(check, "warpmark check --project bench.yaml"),
            missing + "warpmark run --project bench.yaml");
  EXPECT_EQ(how_to_complete_history(check, "warpmark check --rounds 3 -- ./bench -n 4"),
            missing + "warpmark run -- ./bench -n 4");
}

}  // namespace
}  // namespace warpmark::validate
