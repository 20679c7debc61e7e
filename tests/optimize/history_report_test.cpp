// The report of an optimization by one's own commits.
#include "optimize/history_report.h"

#include <gtest/gtest.h>

#include "optimize/plan.h"

namespace warpmark::optimize {
namespace {

/// Five values within 2 % of each other.
MeasuredCommit commit(const char* sha, double seconds, double memory_bytes = 0) {
  MeasuredCommit one{.sha = sha, .subject = std::string("subject of ") + sha, .seconds = {}, .memory_bytes = {}};
  for (const double noise : {0.99, 1.01, 1.0, 0.995, 1.005}) one.seconds.push_back(seconds * noise);
  if (memory_bytes > 0) one.memory_bytes = memory_bytes;
  return one;
}

TEST(HistoryReport, has_the_speedup_of_each_commit_and_of_all) {
  const MeasuredCommit commits[] = {commit("a", 12, 8e9), commit("b", 6, 8e9), commit("c", 6.01, 6e9), commit("d", 7.5),
                                    commit("e", 3)};
  const auto optimization = optimization_of(commits, {});
  ASSERT_TRUE(optimization.ok());
  ASSERT_EQ(optimization->steps.size(), 4U);
  const auto& steps = optimization->steps;
  EXPECT_EQ(steps[0].outcome, TrialOutcome::kept);
  EXPECT_NEAR(steps[0].measured->ratio, 2, 1e-9);
  EXPECT_LT(steps[0].measured->low, 2);
  EXPECT_NE(steps[1].outcome, TrialOutcome::kept);
  EXPECT_EQ(steps[1].memory_saved_bytes, 2e9);
  EXPECT_EQ(steps[2].outcome, TrialOutcome::slower);
  EXPECT_NEAR(steps[2].cumulative->ratio, 1.6, 1e-9);
  EXPECT_NEAR(steps[3].cumulative->ratio, 4, 1e-9);
  EXPECT_NEAR(optimization->measured_speedup->ratio, 4, 1e-9);
  ASSERT_EQ(optimization->plan.size(), 2U);
  EXPECT_EQ(optimization->plan[1].first, "e");
  EXPECT_EQ(outcome_code(*optimization), 0);
  EXPECT_EQ(optimization->verdict.substr(0, 2), "4x") << optimization->verdict;
}

TEST(HistoryReport, single_values_decide_nothing) {
  const MeasuredCommit commits[] = {{.sha = "a", .subject = "", .seconds = {4}, .memory_bytes = {}},
                                    {.sha = "b", .subject = "", .seconds = {1}, .memory_bytes = {}}};
  const auto optimization = optimization_of(commits, {});
  ASSERT_TRUE(optimization.ok());
  EXPECT_FALSE(optimization->measured_speedup);
  EXPECT_EQ(optimization->steps[0].outcome, TrialOutcome::undecided);
  EXPECT_EQ(outcome_code(*optimization), 3);
  EXPECT_FALSE(optimization_of({commits, 1}, {}).ok());
}

}  // namespace
}  // namespace warpmark::optimize
