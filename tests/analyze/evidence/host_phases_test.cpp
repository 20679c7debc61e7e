// Recordings of PyTorch programs without a GPU: what the host's steps are made of.
#include "analyze/evidence/host_phases.h"

#include <gmock/gmock.h>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::HasSubstr;
using testing_support::of;
using testing_support::TimelineScene;

/// Steps of 10 ms, of which 8 wait for the loader and 0.5 are in the optimizer.
Timeline steps_of_a_cpu(bool with_steps) {
  TimelineScene scene;
  for (int step = 0; step < 5; ++step) {
    const auto at = scene.now();
    if (with_steps) {
      scene.add({EventKind::annotation, at, 10'000'000, "ProfilerStep#" + std::to_string(step)});
    }
    scene.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 8'000'000, EventKind::op);
    scene.range("aten::mm", 1'500'000, EventKind::op);
    scene.range("Optimizer.step#AdamW.step", 500'000, EventKind::op);
  }
  return scene.build();
}

TEST(HostPhases, name_a_loader_that_the_host_waits_for) {
  for (const bool with_steps : {true, false}) {
    const Timeline timeline = steps_of_a_cpu(with_steps);
    const auto phases = host_phases_of(timeline);
    ASSERT_TRUE(phases);
    EXPECT_EQ(phases->steps, with_steps ? 5 : 4);
    EXPECT_NEAR(phases->step_s, 0.01, 1e-9);
    EXPECT_NEAR(phases->loading, 0.8, 1e-9);
    EXPECT_NEAR(phases->optimizer, 0.05, 1e-9);
    EXPECT_THAT(of(steps_of_a_cpu(with_steps)).verdict, HasSubstr("80.0 % waiting for the loader"));
    EXPECT_THAT(of(steps_of_a_cpu(with_steps)).verdict, HasSubstr("No GPU work was recorded"));
    const auto analysis = of(steps_of_a_cpu(with_steps));
    ASSERT_EQ(analysis.findings.size(), 1U);
    EXPECT_EQ(analysis.findings.front().rule, "data_loading");
    EXPECT_GT(analysis.findings.front().severity, kCritical);
    EXPECT_NEAR(analysis.findings.front().gain.high, 5, 1e-6);
    EXPECT_THAT(analysis.findings.front().recommendations.front().snippet, HasSubstr("num_workers"));
  }
}

TEST(HostPhases, name_what_the_program_does_outside_of_pytorch) {
  TimelineScene scene;
  for (int step = 0; step < 5; ++step) {
    scene.add({EventKind::annotation, scene.now(), 10'000'000, "ProfilerStep#" + std::to_string(step)});
    scene.idle_host(8'000'000);
    scene.range("aten::mm", 2'000'000, EventKind::op);
  }
  const auto analysis = of(scene.build());
  EXPECT_THAT(analysis.verdict, HasSubstr("80.0 % outside of PyTorch"));
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings.front().rule, "host_work");
  EXPECT_NEAR(analysis.findings.front().gain.high, 5, 1e-6);
}

TEST(HostPhases, leave_threads_out_that_load_ahead) {
  TimelineScene scene;
  const auto ahead = scene.stream(7);  // any row but the main thread's
  for (int step = 0; step < 5; ++step) {
    scene.add({EventKind::annotation, scene.now(), 10'000'000, "ProfilerStep#" + std::to_string(step)});
    scene.add({EventKind::annotation, scene.now(), 9'000'000, "load_batch", ahead});
    scene.range("aten::mm", 10'000'000, EventKind::op);
  }
  const auto phases = host_phases_of(scene.build());
  ASSERT_TRUE(phases);
  EXPECT_EQ(phases->loading, 0);
  EXPECT_TRUE(findings_of(*phases).empty());
}

TEST(HostPhases, of_a_program_without_steps_are_not_known) {
  const auto one_operator = [] {
    TimelineScene scene;
    scene.range("aten::mm", 5'000, EventKind::op);
    return scene.build();
  };
  EXPECT_FALSE(host_phases_of(one_operator()));
  EXPECT_THAT(of(one_operator()).verdict, HasSubstr("No GPU work was recorded: nothing can be said"));
}

}  // namespace
}  // namespace warpmark::analyze
