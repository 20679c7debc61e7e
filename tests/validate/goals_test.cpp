#include "validate/judge/gates.h"

#include <gtest/gtest.h>

#include "stats/summary.h"

namespace warpmark::validate {
namespace {

Run run_with(const char* metric, double value) {
  Run run;
  run.workload = "resnet50";
  run.device = "cuda:0";
  run.metrics.push_back(stats::sampled_metric(metric, "1", Better::higher, {value}));
  return run;
}

TEST(Goals, are_bounds_of_a_metric) {
  const auto goal = parse_goal("utilization >= 85%");
  ASSERT_TRUE(goal.ok()) << goal.error().what;
  EXPECT_EQ(goal->metric, "utilization");
  EXPECT_TRUE(goal->at_least);
  EXPECT_DOUBLE_EQ(goal->value, 0.85);
  EXPECT_FALSE(parse_goal("time<=0.5")->at_least);
  EXPECT_DOUBLE_EQ(parse_goal("gpu_peak_memory<=75 GB")->value, 75e9);
  EXPECT_DOUBLE_EQ(parse_goal("time<=170ms")->value, 0.17);
  EXPECT_DOUBLE_EQ(parse_goal("bandwidth>=1.5TB/s")->value, 1.5e12);
  for (const char* wrong : {"", "time", "time=3", ">=3", "time>=", "time>=fast"}) {
    EXPECT_FALSE(parse_goal(wrong).ok()) << wrong;
  }
}

TEST(Goals, are_met_by_every_run_that_has_the_metric) {
  const std::vector<::warpmark::Run> runs{run_with("samples_rate", 2400), run_with("samples_rate", 5000),
                                          run_with("time", 1)};
  const std::vector<Goal> goals{*parse_goal("samples_rate>=5000")};
  const auto rows = judge_goals(goals, runs);
  ASSERT_TRUE(rows.ok()) << rows.error().what;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_FALSE((*rows)[0].met);
  EXPECT_TRUE((*rows)[1].met);
  const std::vector<Goal> unknown{*parse_goal("tokens>=1")};
  const auto none = judge_goals(unknown, runs);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().hint, "metrics: samples_rate, time");
  EXPECT_DOUBLE_EQ(parse_goal("time<=2m")->value, 120);
  const std::vector<Goal> percent{*parse_goal("samples_rate>=240000%")};
  EXPECT_TRUE(judge_goals(percent, runs).value().front().met) << "of a plain number";
  const std::vector<Goal> watts{*parse_goal("samples_rate>=5 W")};
  EXPECT_FALSE(judge_goals(watts, runs).ok()) << "another unit";
}

}  // namespace
}  // namespace warpmark::validate
