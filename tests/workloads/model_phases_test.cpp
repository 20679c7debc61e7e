// How many steps phases get, and what their sum says beside steps without marks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/summary.h"
#include "workloads/models/model_metrics.h"

namespace warpmark::workloads {
namespace {

TEST(PhaseSteps, are_enough_for_a_p99_where_there_is_time) {
  EXPECT_EQ(phase_steps({.step_s = 0.001, .room_s = 2, .least = 6, .most = 10'000}), 299);
  EXPECT_EQ(phase_steps({.step_s = 0.02, .room_s = 2, .least = 6, .most = 10'000}), 100);
  EXPECT_EQ(phase_steps({.step_s = 3, .room_s = 2, .least = 6, .most = 10'000}), 6);
  EXPECT_EQ(phase_steps({.step_s = 0, .room_s = 2, .least = 1000, .most = 10'000}), 1000);
  EXPECT_EQ(phase_steps({.step_s = 0.001, .room_s = 2, .least = 6, .most = 40}), 40);
  EXPECT_EQ(phase_steps({.step_s = 0.001, .room_s = 2, .least = 6, .most = 0}), 1);
}

/// Timed windows from 0.9 to 1.1 s, and phases that add up to so much.
warpmark::Run with_phases(double step_s) {
  warpmark::Run run;
  run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, {0.9, 1, 1, 1, 1.1}));
  add_phases({.seconds = {{"forward", {step_s / 4, step_s / 4}}, {"backward", {3 * step_s / 4, 3 * step_s / 4}}},
              .step_s = step_s,
              .doubt = ""},
             run);
  return run;
}

TEST(Phases, of_a_long_generation_are_kept_evenly) {
  warpmark::Run run;
  run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, {1, 1, 1}));
  std::vector<double> words(40'960);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<double>(i);
  add_phases({.seconds = {{"token", words}}, .step_s = 1, .doubt = ""}, run);
  ASSERT_EQ(run.metrics[1].samples.size(), 4096U);
  EXPECT_DOUBLE_EQ(run.metrics[1].samples[4095], 40'950);
}

TEST(Phases, are_set_against_the_step_without_marks) {
  for (const double step_s : {0.895, 1.0, 1.105}) {
    const warpmark::Run run = with_phases(step_s);
    EXPECT_THAT(run.notes, testing::IsEmpty()) << step_s;
    ASSERT_EQ(run.metrics.size(), 4U);
    EXPECT_EQ(run.metrics[1].id, "phase.forward");
    EXPECT_EQ(run.metrics.back().id, "phases_ratio");
    EXPECT_DOUBLE_EQ(run.metrics.back().samples.front(), step_s);
  }
  for (const double step_s : {0.88, 1.12}) {
    const warpmark::Run run = with_phases(step_s);
    ASSERT_EQ(run.notes.size(), 1U) << step_s;
    EXPECT_THAT(run.notes.front().second, testing::HasSubstr("whose windows lie from 90.0 to 110.0 %"));
  }
}

}  // namespace
}  // namespace warpmark::workloads
