#include "analyze/steps.h"

#include <gtest/gtest.h>

#include <random>

#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::stepped;
using testing_support::TimelineScene;

Steps steps_of(const Timeline& timeline) { return find_steps(timeline, list_work(timeline)); }

TEST(Steps, come_from_profiler_annotations_on_the_gpus_clock) {
  const Timeline timeline = stepped(5, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);  // the host runs ahead: 50 us for 1 ms of work
  });
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "ProfilerStep annotations");
  EXPECT_EQ(steps.found, 5);
  ASSERT_EQ(steps.analyzed.size(), 3U);  // start-up and the last, which no next one closes, are left out
  for (const StepSpan& span : steps.analyzed) EXPECT_EQ(span.end_ns - span.start_ns, 1'000'000);
}

TEST(Steps, come_from_other_repeating_ranges) {
  TimelineScene scene;
  for (int i = 0; i < 6; ++i) {
    scene.within("train iteration " + std::to_string(i), EventKind::annotation, [&] {
      scene.launch(kTensorGemm, 50'000);
      scene.synchronize();
    });
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "annotation 'train iteration'");
  EXPECT_EQ(steps.analyzed.size(), 4U);
}

TEST(Steps, come_from_the_kernel_sequence_in_spite_of_noise) {
  std::mt19937 random(3);
  TimelineScene scene;
  for (int i = 0; i < 12; ++i) {
    scene.launch("first_kernel_of_a_step", 20'000);
    for (int k = 0; k < 15; ++k) scene.launch(k % 2 == 0 ? "gemm_a" : "add_b", 20'000);
    if (random() % 4 == 0) scene.launch("now_and_then", 5'000);
    scene.launch("update", 10'000);
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "repeating kernel sequence");
  EXPECT_EQ(steps.found, 12);
  EXPECT_EQ(steps.analyzed.size(), 10U);
}

/// Forty linear layers: a product and a sum each, all alike.
std::vector<std::string> equal_layers() {
  std::vector<std::string> kernels;
  for (int layer = 0; layer < 40; ++layer) kernels.insert(kernels.end(), {kTensorGemm, "add_bias"});
  return kernels;
}

TEST(Steps, are_the_replays_of_a_graph_though_its_layers_are_alike) {
  TimelineScene scene;
  for (int i = 0; i < 50; ++i) scene.replay(equal_layers(), 2'200);
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "repeating kernel sequence");
  EXPECT_EQ(steps.found, 50);
  ASSERT_EQ(steps.analyzed.size(), 48U);
  for (const StepSpan& span : steps.analyzed) EXPECT_EQ(span.end_ns - span.start_ns, 80 * 2'200);
}

TEST(Steps, hold_the_graph_and_what_is_launched_around_it) {
  TimelineScene scene;
  for (int i = 0; i < 20; ++i) {
    scene.copy(CopyKind::host_to_device, HostMemory::pinned, 1 << 20, 30'000, false);
    scene.replay(equal_layers(), 2'200);
    scene.launch("clip_gradients", 4'000);
    scene.launch("update", 9'000);
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found, 20);
  ASSERT_EQ(steps.analyzed.size(), 18U);
  EXPECT_EQ(steps.analyzed[3].end_ns - steps.analyzed[3].start_ns, 80 * 2'200 + 30'000 + 4'000 + 9'000);
}

TEST(Steps, of_equal_layers_launched_one_by_one_go_from_wait_to_wait) {
  TimelineScene scene;
  for (int i = 0; i < 12; ++i) {
    for (const std::string& kernel : equal_layers()) scene.launch(kernel, 6'000);
    scene.synchronize();
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found, 11) << "there is no launch behind the last wait";
  ASSERT_EQ(steps.analyzed.size(), 9U);
  EXPECT_GT(steps.analyzed[3].end_ns - steps.analyzed[3].start_ns, 80 * 6'000);
  EXPECT_LT(steps.analyzed[3].end_ns - steps.analyzed[3].start_ns, 80 * 6'000 + 20'000);
}

TEST(Steps, are_the_whole_recording_if_nothing_repeats) {
  TimelineScene scene;
  for (const char* name : {"a", "b", "c", "d"}) scene.launch(name, 10'000);
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "whole recording");
  EXPECT_FALSE(steps.repeating);
  EXPECT_EQ(steps.length(), 40'000);
}

TEST(Steps, of_an_empty_timeline_are_none) {
  TimelineScene scene;
  const Timeline timeline = scene.build();
  EXPECT_TRUE(steps_of(timeline).analyzed.empty());
}

}  // namespace
}  // namespace warpmark::analyze
