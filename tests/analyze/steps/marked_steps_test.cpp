// Steps that the program or its profiler marks.
#include <gtest/gtest.h>

#include <iterator>

#include "analyze/steps/steps.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::stepped;
using testing_support::TimelineScene;

Steps marked_in(const Timeline& timeline) { return find_steps(timeline, list_work(timeline)); }

TEST(MarkedSteps, may_be_a_single_one) {
  TimelineScene scene;
  scene.within("ProfilerStep#3", EventKind::annotation, [&] {
    scene.idle_host(5'000'000);
    for (int layer = 0; layer < 20; ++layer) {
      for (const char* kernel : {"attend", "norm", "dense"}) scene.launch(kernel, 50'000);
    }
    scene.idle_host(4'000'000);
  });
  const Timeline timeline = scene.build();
  const Steps steps = marked_in(timeline);
  EXPECT_EQ(steps.found_by, "ProfilerStep annotations");
  ASSERT_EQ(steps.analyzed.size(), 1U);
  EXPECT_GE(steps.length(), 9'000'000) << "layers are no steps";
}

TEST(MarkedSteps, of_a_single_range_of_a_server_last_as_long_as_the_gpu_works) {
  TimelineScene scene;
  scene.within("execute_32_context_0(0)_generation_32(32)", EventKind::annotation, [&] {
    for (int i = 0; i < 9; ++i) scene.copy(CopyKind::device_to_device, HostMemory::unknown, 4096, 4'700, false);
    scene.replay(std::vector<std::string>(400, "kernel"), 25'000);
  });
  const Timeline timeline = scene.build();
  const Steps steps = marked_in(timeline);
  ASSERT_EQ(steps.analyzed.size(), 1U);
  EXPECT_NEAR(static_cast<double>(steps.length()), 10.05e6, 0.1e6);
}

TEST(MarkedSteps, within_a_cycle_of_the_profiler_are_the_ranges_that_replay_a_graph) {
  TimelineScene scene;
  scene.within("ProfilerStep#3", EventKind::annotation, [&] {
    for (int i = 0; i < 8; ++i) scene.launch("encode_" + std::to_string(i), 100'000);
    for (int i = 0; i < 4; ++i) {
      scene.within("## Call CompiledFxGraph ##", EventKind::annotation,
                   [&] { scene.replay(std::vector<std::string>(60, "kernel"), 700'000); });
    }
  });
  const Timeline timeline = scene.build();
  const Steps steps = marked_in(timeline);
  EXPECT_EQ(steps.found, 4);
  for (const StepSpan& span : steps.analyzed) EXPECT_EQ(span.end_ns - span.start_ns, 60 * 700'000);
}

TEST(MarkedSteps, of_the_profiler_are_not_outvoted_by_what_repeats_around_a_single_one) {
  TimelineScene scene;
  for (int i = 0; i < 200; ++i) scene.launch(kTensorGemm, 100'000);
  scene.synchronize();
  scene.within("ProfilerStep#5", EventKind::annotation, [&] {
    scene.range("fetch", 8'000'000);
    scene.launch(kTensorGemm, 100'000);
    scene.synchronize();
  });
  const Steps steps = marked_in(scene.build());
  EXPECT_EQ(steps.found, 1);
  EXPECT_GT(steps.length(), 8'000'000);
}

TEST(MarkedSteps, of_marked_batches_go_from_update_to_update) {
  TimelineScene scene;
  for (int i = 0; i < 16; ++i) {
    scene.within("backward_step", EventKind::annotation, [&] {
      for (int k = 0; k < 10; ++k) scene.launch(kTensorGemm, 100'000);
      scene.synchronize();
    });
    if (i % 4 == 3) scene.within("Optimizer.step", EventKind::annotation, [&] { scene.launch("adam", 50'000); });
  }
  const Steps steps = marked_in(scene.build());
  EXPECT_EQ(steps.found, 4);
  EXPECT_GT(steps.length() / std::ssize(steps.analyzed), 4'000'000);
}

TEST(MarkedSteps, that_nobody_repeats_last_as_long_as_the_range_around_them) {
  TimelineScene scene;
  scene.within("Torch-Compiled Region", EventKind::annotation, [&] {
    for (const char* name : {"a", "b", "c", "d"}) scene.launch(name, 1'000'000);
    scene.synchronize();
    scene.idle_host(7'000'000);
  });
  EXPECT_GT(marked_in(scene.build()).length(), 7'000'000);
}

TEST(MarkedSteps, are_no_ranges_that_launch_nothing) {
  TimelineScene scene;
  for (int i = 0; i < 6; ++i) {
    scene.range("compile module " + std::to_string(i), 2'000'000);
    for (int k = 0; k < 12; ++k) scene.launch("kernel_" + std::to_string(k), 50'000);
  }
  const Timeline timeline = scene.build();
  EXPECT_EQ(marked_in(timeline).found_by, "repeating kernel sequence");
}

TEST(MarkedSteps, are_no_ranges_that_several_threads_are_in_at_once) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "other"});
  for (int i = 0; i < 6; ++i) {
    const std::int64_t start = scene.now();
    for (int k = 0; k < 12; ++k) scene.launch("kernel_" + std::to_string(k), 50'000);
    scene.synchronize();
    for (const std::uint32_t thread : {0U, 1U}) {
      scene.add({EventKind::annotation, start, scene.now() - start, "compile " + std::to_string(i), thread});
    }
  }
  const Timeline timeline = scene.build();
  EXPECT_EQ(marked_in(timeline).found_by, "repeating kernel sequence");
}

TEST(MarkedSteps, are_not_as_long_as_a_program_that_hardly_works_on_the_gpu) {
  TimelineScene scene;
  scene.within("main", EventKind::annotation, [&] {
    scene.idle_host(29'000'000'000);
    for (const char* name : {"a", "b", "c", "d"}) scene.launch(name, 1'000'000);
    scene.synchronize();
    scene.idle_host(1'000'000'000);
  });
  EXPECT_LT(marked_in(scene.build()).length(), 5'000'000);
}

TEST(MarkedSteps, are_those_of_the_program_where_the_profiler_saw_only_a_few) {
  TimelineScene scene;
  const auto step = [&scene](const std::string& name) {
    scene.within(name, EventKind::annotation, [&] {
      for (int k = 0; k < 10; ++k) scene.launch(kTensorGemm, 100'000);
      scene.synchronize();
    });
  };
  for (int i = 0; i < 2; ++i) step("ProfilerStep#" + std::to_string(i));
  for (int i = 0; i < 40; ++i) step("train_step");
  EXPECT_EQ(marked_in(scene.build()).found, 40);
}

}  // namespace
}  // namespace warpmark::analyze
