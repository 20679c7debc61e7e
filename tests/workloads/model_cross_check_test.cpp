// What a recording says of a model's steps, and what contradicts what the worker says.
#include "workloads/models/model_cross_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/timeline_builder.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;

struct Launch {
  const char* name;
  std::int64_t start_ms, lasts_ms;
  EventKind kind = EventKind::kernel;
};

Timeline timeline_of(const std::vector<Launch>& launches) {
  profile::TimelineBuilder builder;
  const auto stream =
      builder.track({.kind = TrackKind::gpu_stream, .process = 1, .thread = 7, .device = 0, .name = "7"});
  for (const auto& launch : launches) {
    builder.add({.start = launch.start_ms * 1'000'000,
                 .duration = launch.lasts_ms * 1'000'000,
                 .name = builder.intern(launch.name),
                 .track = stream,
                 .kind = launch.kind});
  }
  return builder.finish();
}

/// `steps` steps of 20 ms from `begin_ms` on: a copy of 1 ms, two products of 5 ms, an update of 2 ms.
std::vector<Launch> steps_from(std::int64_t begin_ms, std::int64_t steps) {
  std::vector<Launch> launches;
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t at = begin_ms + 20 * i;
    launches.insert(
        launches.end(),
        {{"copy", at, 1, EventKind::memcpy}, {"gemm", at + 1, 5}, {"gemm", at + 6, 5}, {"adam", at + 12, 2}});
  }
  return launches;
}

CrossCheckedWork work_of(const std::vector<Launch>& launches, std::int64_t since_ms = 0) {
  return cross_checked_work(timeline_of(launches), since_ms * 1'000'000, kCrossCheckedSteps);
}

constexpr ReportedStep kTrue{.steps = 7, .window_s = 0.14, .step_s = 0.02, .once_each_step = true};

TEST(ModelWitness, counts_what_the_gpu_did_since_then) {
  auto launches = steps_from(1000, 2);  // others, before
  const auto judged = steps_from(2000, 7);
  launches.insert(launches.end(), judged.begin(), judged.end());
  const CrossCheckedWork work = work_of(launches, 1900);
  EXPECT_EQ(work.launches, 21);
  EXPECT_EQ(work.in_steps, 21);
  EXPECT_EQ(work.fewest, 7);
  EXPECT_NEAR(work.busy_s, 7 * 0.013, 1e-9);
  EXPECT_NEAR(work.span_s, 0.134, 1e-9);
  EXPECT_EQ(contradiction(work, kTrue), "");
}

TEST(ModelWitness, counts_what_overlaps_once) {
  const CrossCheckedWork work = work_of({{"a", 10, 10}, {"b", 12, 2}, {"c", 15, 10}, {"d", 40, 1}});
  EXPECT_NEAR(work.busy_s, 0.016, 1e-9);
  EXPECT_NEAR(work.span_s, 0.031, 1e-9);
}

TEST(ModelWitness, finds_steps_that_were_left_out_or_added) {
  EXPECT_THAT(contradiction(work_of(steps_from(0, 4)), kTrue), HasSubstr("no multiple of 7"));
  EXPECT_THAT(contradiction(work_of(steps_from(0, 6)), kTrue), HasSubstr("no multiple of 7"));
  EXPECT_THAT(contradiction(work_of(steps_from(0, 14)), {.steps = 7, .window_s = 1, .step_s = 1}),
              HasSubstr("at least 14 times"));
  EXPECT_THAT(contradiction(work_of({}), kTrue), HasSubstr("no kernel"));
  auto scaled = kTrue;
  scaled.equal_steps = false;
  EXPECT_EQ(contradiction(work_of(steps_from(0, 6)), scaled), "") << "an update that was left out";
}

TEST(ModelWitness, forgives_a_stray_launch_and_batches_within_a_step) {
  std::vector<Launch> launches;
  for (int i = 0; i < 7 * 30; ++i) launches.push_back({i % 30 == 0 ? "loss" : "gemm", 4 * i, 1});
  launches.push_back({"workspace", 1, 1});
  const ReportedStep attribute{.steps = 7, .window_s = 0.84, .step_s = 0.12, .once_each_step = true};
  EXPECT_EQ(contradiction(work_of(launches), attribute), "");
  auto accumulated = attribute;
  accumulated.once_each_step = false;
  std::erase_if(launches, [](const Launch& launch) { return std::string_view(launch.name) == "loss"; });
  EXPECT_EQ(contradiction(work_of(launches), accumulated), "");
}

TEST(ModelWitness, finds_time_that_was_not_waited_for) {
  EXPECT_THAT(contradiction(work_of(steps_from(0, 7)), {.steps = 7, .window_s = 0.05, .step_s = 0.02}),
              HasSubstr("the GPU work for 0.134 s"));
  EXPECT_THAT(contradiction(work_of(steps_from(0, 7)), {.steps = 7, .window_s = 0.14, .step_s = 0.01}),
              HasSubstr("the kernels of a step take 0.013 s"));
}

}  // namespace
}  // namespace warpmark::workloads
