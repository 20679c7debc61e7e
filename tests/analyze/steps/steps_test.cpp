#include "analyze/steps/steps.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::iterated;
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

TEST(Steps, are_not_what_lies_between_waits_by_the_clock) {
  TimelineScene scene;
  for (int i = 0; i < 400; ++i) {
    for (const char* kernel : {"attend", "norm", "dense"}) scene.launch(kernel, 20'000);
    if (i % 40 == 18 || i % 40 == 39) scene.synchronize();  // after 19 or 21 rounds
  }
  const Timeline uneven = scene.build();
  EXPECT_GT(find_steps(uneven, list_work(uneven)).found, 390);
  TimelineScene seldom;
  for (int i = 0; i < 2000; ++i) {
    for (const char* kernel : {"attend", "norm", "dense"}) seldom.launch(kernel, 20'000);
    if (i % 400 == 399) seldom.synchronize();  // to print how far it is
  }
  const Timeline printing = seldom.build();
  EXPECT_GT(find_steps(printing, list_work(printing)).found, 1990);
}

TEST(Steps, are_those_of_most_of_the_gpus_time_not_what_repeats_after_them) {
  TimelineScene scene;
  for (int i = 0; i < 40; ++i) scene.replay(std::vector<std::string>(8, kTensorGemm), 100'000);
  scene.synchronize();
  for (int i = 0; i < 12; ++i) {  // results are looked at, one after another
    for (const char* kernel : {"compare", "reduce", "convert"}) scene.launch(kernel, 10'000);
  }
  const Steps steps = steps_of(scene.build());
  ASSERT_EQ(steps.found, 40);
  EXPECT_EQ(steps.analyzed.front().end_ns - steps.analyzed.front().start_ns, 800'000);
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

/// One time step of a wave equation: ten kernels, all of one loop.
void launch_time_step(TimelineScene& scene) {
  for (int k = 0; k < 10; ++k) scene.launch("wave_" + std::string(1, static_cast<char>('a' + k)), 6'000);
}

TEST(Steps, of_a_loop_that_the_host_reads_after_go_from_read_to_read) {
  TimelineScene scene;
  for (int i = 0; i < 12; ++i) {
    for (int inner = 0; inner < 32; ++inner) launch_time_step(scene);
    scene.idle_host(20'000'000);  // copies and works on what it read
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "repeating kernel sequence");
  EXPECT_EQ(steps.found, 11) << "the first step has no end of another before it";
  ASSERT_EQ(steps.analyzed.size(), 9U);
  const std::int64_t length = steps.analyzed.front().end_ns - steps.analyzed.front().start_ns;
  EXPECT_GT(length, 20'000'000);
  for (const StepSpan& span : steps.analyzed) EXPECT_LT(std::abs(span.end_ns - span.start_ns - length), 100'000);
}

/// Four workers bring a batch each: every fourth iteration waits for them, and is no pause.
TEST(Steps, of_a_loader_that_does_not_keep_up_are_iterations_not_rounds_of_its_workers) {
  TimelineScene scene;
  for (int i = 0; i < 25; ++i) {
    scene.copy(CopyKind::host_to_device, HostMemory::pinned, 77'000'000, 1'000'000, false);
    for (int layer = 0; layer < 40; ++layer) scene.launch("layer_" + std::to_string(layer), 1'500'000);
    scene.launch("update", 1'000'000);
    scene.synchronize();
    if (i % 4 == 3) scene.idle_host(150'000'000);
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found, 25);
  EXPECT_TRUE(steps.pauses.empty());
  EXPECT_GE(steps.analyzed.size(), 22U);
}

/// `launches` kernels of a batch, other ones for a smaller batch, and an update of the parameters.
void launch_iteration(TimelineScene& scene, bool small, bool update) {
  scene.copy(CopyKind::host_to_device, HostMemory::pinned, 1'000'000, 20'000, false);
  for (int layer = 0; layer < 20; ++layer) {
    scene.launch((small && layer % 3 == 0 ? "small_gemm_" : "gemm_") + std::to_string(layer), 20'000);
  }
  if (update) scene.launch("void multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>", 10'000);
}

TEST(Steps, are_iterations_not_epochs_whose_last_batch_is_smaller) {
  TimelineScene scene;
  for (int i = 0; i < 5 * 16; ++i) launch_iteration(scene, i % 16 == 15, true);
  EXPECT_EQ(steps_of(scene.build()).found, 80);
}

/// A recurrent model, whose layers run on a stream of cuDNN's. The same kernels work forwards and backwards.
TEST(Steps, are_iterations_between_which_each_round_is_evaluated) {
  TimelineScene scene;
  const auto pass = [&] {
    for (int k = 0; k < 8; ++k) scene.launch("lstm", 20'000, 1024, 13);
    scene.launch("linear", 10'000, 1024, 7);
  };
  for (int i = 0; i < 4 * 40; ++i) {
    scene.copy(CopyKind::host_to_device, HostMemory::pinned, 1'000'000, 20'000, false);
    pass();
    pass();
    scene.launch("void multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>", 10'000, 1024, 7);
    scene.synchronize();
    if (i % 40 != 39) continue;
    for (int batch = 0; batch < 30; ++batch) pass();
    scene.synchronize();
  }
  const Steps steps = steps_of(scene.build());
  EXPECT_GT(steps.found, 150);
  EXPECT_LT(steps.analyzed.size(), 40U) << "between two evaluations";
}

TEST(Steps, of_accumulated_gradients_go_from_update_to_update) {
  TimelineScene scene;
  for (int i = 0; i < 20 * 4; ++i) launch_iteration(scene, false, i % 4 == 3);
  EXPECT_EQ(steps_of(scene.build()).found, 19) << "the first has no update before it";
}

TEST(Steps, are_no_layers_within_one_call_of_a_module) {
  const auto passes = [](int count) {
    TimelineScene scene;
    for (int pass = 0; pass < count; ++pass) {
      scene.within("nn.Module: Transformer_0", EventKind::python, [&] {
        for (int layer = 0; layer < 12; ++layer) {
          for (int k = 0; k < 20; ++k) scene.launch("kernel_" + std::to_string(k), 20'000);
        }
      });
      scene.synchronize();
    }
    return scene.build();
  };
  EXPECT_FALSE(steps_of(passes(1)).repeating);
  EXPECT_TRUE(steps_of(passes(12)).repeating);
}

/// cuDNN spreads a recurrent layer over streams of its own.
TEST(Steps, hold_the_work_of_all_streams) {
  TimelineScene scene;
  for (int i = 0; i < 20; ++i) {
    scene.launch("begin", 10'000);
    for (int layer = 0; layer < 10; ++layer) {
      for (const int stream : {7, 13, 30}) scene.launch("gemm_" + std::to_string(layer), 20'000, 1024, stream);
    }
    scene.launch("update", 10'000);
    scene.synchronize();
  }
  EXPECT_EQ(steps_of(scene.build()).found, 20);
}

TEST(Steps, keep_their_windows_where_a_few_are_long_at_no_even_distance) {
  TimelineScene scene;
  for (int i = 0; i < 200; ++i) {
    launch_time_step(scene);
    if (i == 20 || i == 30 || i == 100 || i == 110 || i == 190) scene.idle_host(20'000'000);
  }
  const Timeline timeline = scene.build();
  EXPECT_EQ(steps_of(timeline).found, 200);
}

TEST(Steps, of_many_equal_iterations_begin_where_one_launch_differs) {
  TimelineScene scene;
  for (int i = 0; i < 12; ++i) {
    scene.launch("begin", 4'000);
    for (int inner = 0; inner < 60; ++inner) scene.replay({"dot", "update"}, 3'000);
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "repeating kernel sequence");
  EXPECT_EQ(steps.found, 12);
  ASSERT_EQ(steps.analyzed.size(), 10U);
  EXPECT_EQ(steps.analyzed[3].end_ns - steps.analyzed[3].start_ns, 60 * 6'000 + 4'000);
}

TEST(Steps, of_one_kernel_on_several_grids_are_told_by_the_grids) {
  TimelineScene scene;
  for (int i = 0; i < 40; ++i) {
    for (const std::uint32_t blocks : {4096U, 1024U, 256U, 64U, 256U, 1024U, 4096U}) {
      for (int k = 0; k < 8; ++k) scene.launch("relax", blocks * 4L, blocks);
    }
  }
  const Timeline timeline = scene.build();
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found, 40);
  ASSERT_EQ(steps.analyzed.size(), 38U);
}

TEST(Steps, of_a_gpu_that_falls_behind_are_as_long_as_their_work) {
  const Timeline timeline = iterated(10, [](TimelineScene& scene) {
    for (int i = 0; i < 40; ++i) scene.launch(kTensorGemm, 1'000'000);  // 0.2 ms of the host for 40 ms of the GPU
  });
  const Steps steps = steps_of(timeline);
  EXPECT_EQ(steps.found_by, "annotation 'iteration'");
  ASSERT_EQ(steps.analyzed.size(), 8U);
  for (const StepSpan& span : steps.analyzed) EXPECT_EQ(span.end_ns - span.start_ns, 40'000'000);
}

TEST(Steps, hold_most_of_the_work) {
  TimelineScene scene;
  for (int i = 0; i < 9; ++i) scene.copy(CopyKind::device_to_device, HostMemory::unknown, 4096, 4'700, false);
  for (int i = 0; i < 300; ++i) scene.launch("kernel_" + std::to_string(i * i % 293), 25'000);
  const Steps steps = steps_of(scene.build());
  EXPECT_FALSE(steps.repeating) << "copies that repeat are no steps";
  EXPECT_EQ(steps.found_by, "whole recording");
}

TEST(Steps, are_no_copies_before_a_graph_that_nobody_marked) {
  TimelineScene scene;
  for (int i = 0; i < 9; ++i) scene.copy(CopyKind::device_to_device, HostMemory::unknown, 4096, 4'700, false);
  std::vector<std::string> nodes;
  for (int i = 0; i < 400; ++i) nodes.push_back("kernel_" + std::to_string(i % 25));
  scene.replay(nodes, 25'000);
  EXPECT_FALSE(steps_of(scene.build()).repeating);
}

TEST(Steps, begin_after_the_parameters_were_copied) {
  TimelineScene scene;
  for (int i = 0; i < 60; ++i) scene.copy(CopyKind::host_to_device, HostMemory::pinned, 1 << 20, 1'500'000, true);
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < 12; ++k) scene.launch("decode_" + std::to_string(k), 300'000);
    scene.idle_host(4'000'000);
  }
  const Steps steps = steps_of(scene.build());
  EXPECT_EQ(steps.found_by, "repeating kernel sequence");
  EXPECT_EQ(steps.found, 30);
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
