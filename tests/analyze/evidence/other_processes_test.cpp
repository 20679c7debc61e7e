// Whether the GPU worked for others, from its own counter of busy time beside the recorded work.
#include "analyze/evidence/other_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::TimelineScene;

constexpr std::int64_t kRecordedAt = 1'700'000'000'000'000'000;

/// Ten seconds of steps in which the GPU works a fifth of the time, and idles because the host dispatches;
/// `utilization` is what each GPU counted.
ProfileSession idle_steps(std::initializer_list<double> utilization) {
  TimelineScene scene;
  for (int step = 0; step < 100; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      for (int i = 0; i < 10; ++i) {
        scene.idle_host(10'000'000);
        scene.launch(kTensorGemm, 2'000'000);
      }
    });
  }
  ProfileSession session;
  session.ranks.push_back(scene.build());
  session.ranks[0].origin_ns = kRecordedAt;
  int device = 0;
  for (const double value : utilization) {
    CounterSeries series{"gpu_utilization", "", device++, {}, {}};
    for (int i = 0; i < 100; ++i) {
      series.times.push_back(kRecordedAt + i * 100'000'000LL);
      series.values.push_back(value);
    }
    session.counters.push_back(series);
  }
  return session;
}

std::optional<double> others(const ProfileSession& session) {
  return used_by_others(session, gather_evidence(session).rank());
}

double launch_severity(const ProfileSession& session) {
  for (const Finding& finding : analyze(session).findings) {
    if (finding.rule == "launch_overhead" || finding.rule == "host_work") return finding.severity;
  }
  return 0;
}

TEST(OtherProcesses, use_what_the_gpu_counts_beyond_the_recorded_work) {
  const auto share = others(idle_steps({0.9}));
  ASSERT_TRUE(share);
  EXPECT_NEAR(*share, 0.7, 0.02);
}

TEST(OtherProcesses, are_not_suspected_where_both_agree_or_nothing_was_counted) {
  EXPECT_FALSE(others(idle_steps({0.25})));
  EXPECT_FALSE(others(idle_steps({})));
}

TEST(OtherProcesses, are_not_suspected_where_another_gpu_may_be_the_program_s) {
  EXPECT_FALSE(others(idle_steps({0.9, 0.2})));
}

TEST(OtherProcesses, are_not_suspected_where_kernels_follow_one_another) {
  TimelineScene scene;
  scene.dispatch_ns = 6'000;
  for (int step = 0; step < 400; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      for (int i = 0; i < 500; ++i) scene.launch(kTensorGemm, 2'000);  // busy for a third of the time
    });
  }
  ProfileSession session;
  session.ranks.push_back(scene.build());
  CounterSeries series{"gpu_utilization", "", 0, {}, {}};
  for (int i = 0; i < 12; ++i) series.times.push_back(i * 100'000'000LL), series.values.push_back(0.95);
  session.ranks[0].counters.push_back(series);
  EXPECT_FALSE(others(session));
}

TEST(OtherProcesses, take_their_share_of_the_attribution_and_are_named) {
  const ProfileSession alone = idle_steps({0.2});
  const ProfileSession shared = idle_steps({0.95});
  EXPECT_EQ(launch_severity(alone), 1);
  EXPECT_LT(launch_severity(shared), 0.4);
  const auto named = testing::Contains(testing::Field(&MissingData::what, testing::HasSubstr("other processes")));
  EXPECT_THAT(analyze(shared).missing, named);
  EXPECT_THAT(analyze(alone).missing, testing::Not(named));
}

}  // namespace
}  // namespace warpmark::analyze
