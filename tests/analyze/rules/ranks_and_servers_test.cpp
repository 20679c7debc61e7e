// Kinds that several processes show: stages of a pipeline, a GPU that is slower than the others, ranks that were not
// read; and servers, which wait for requests, prefill, and replay graphs in some steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::TimelineScene;

constexpr const char* kAllReduceKernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
constexpr const char* kSendRecv = "ncclDevKernel_SendRecv";

/// Six steps of each rank, marked by the profiler.
ProfileSession ranks_of(int ranks, const std::function<void(TimelineScene&, int rank)>& step) {
  ProfileSession session;
  for (int rank = 0; rank < ranks; ++rank) {
    TimelineScene scene;
    for (int i = 0; i < 6; ++i) {
      scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
        step(scene, rank);
        scene.synchronize();
      });
    }
    Timeline timeline = scene.build();
    timeline.rank = rank;
    timeline.world_size = ranks;
    session.ranks.push_back(std::move(timeline));
  }
  return session;
}

/// Each stage works for 4 ms, in parts, and waits for the others' parts for 4 ms; a message takes 100 us by itself.
void pipeline_step(TimelineScene& scene, int rank) {
  for (int part = 0; part < 4; ++part) {
    scene.launch(kSendRecv, part == rank ? 4'000'000 : 100'000, 24, 20);
    for (int k = 0; k < 10; ++k) scene.launch(kTensorGemm, 100'000, 1024, 20);
  }
}

TEST(Pipeline, stages_wait_for_one_another) {
  const Analysis analysis = analyze(ranks_of(4, pipeline_step));
  EXPECT_THAT(analysis.verdict,
              StartsWith("The stages of the pipeline work one after the other: one waits 4.300 ms per step (51.8 %)"));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_THAT(analysis.findings.front().recommendations.front().text, HasSubstr("more micro-batches"));
  EXPECT_EQ(find(analysis, "load_imbalance"), nullptr) << "all have as much to do";
}

TEST(Pipeline, is_seen_in_one_stage) {
  ProfileSession session = ranks_of(4, pipeline_step);
  session.ranks.resize(1);
  EXPECT_THAT(analyze(session).verdict, StartsWith("The stages of the pipeline work one after the other"));
}

TEST(Pipeline, is_no_exchange_of_all_with_all) {
  const Analysis analysis = analyze(ranks_of(4, [](TimelineScene& scene, int rank) {
    scene.within("c10d::alltoall_base_", EventKind::op, [&] { pipeline_step(scene, rank); });
  }));
  EXPECT_THAT(analysis.verdict, Not(HasSubstr("pipeline")));
}

/// The kernels of rank 2 take 1.4 times as long, in grids of this many blocks.
ProfileSession with_slow_rank(std::uint32_t blocks) {
  return ranks_of(4, [blocks](TimelineScene& scene, int rank) {
    const bool slow = rank == 2;
    for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, slow ? 420'000 : 300'000, slow ? blocks : 1024);
    scene.launch(kAllReduceKernel, slow ? 100'000 : 2'500'000);
  });
}

TEST(SlowGpu, is_named_where_the_kernels_are_the_same) {
  const Analysis analysis = analyze(with_slow_rank(1024));
  EXPECT_THAT(analysis.verdict, StartsWith("Rank 2 takes 1.40x as long for the same kernels"));
  EXPECT_THAT(find(analysis, "load_imbalance")->recommendations.front().text, HasSubstr("clock, temperature"));
}

TEST(SlowGpu, is_none_that_has_larger_grids) {
  EXPECT_THAT(analyze(with_slow_rank(1434)).verdict, StartsWith("Rank 2 has more work"));
}

TEST(MissingRanks, may_be_late_and_the_verdict_says_so) {
  const auto step = [](TimelineScene& scene, int) {
    for (int k = 0; k < 10; ++k) scene.launch(kTensorGemm, 300'000);
    scene.launch(kAllReduceKernel, 2'000'000);
  };
  ProfileSession session = ranks_of(4, step);
  EXPECT_THAT(analyze(session).verdict, Not(HasSubstr("ranks were read")));
  session.ranks.resize(2);
  EXPECT_THAT(analyze(session).verdict, HasSubstr("Only 2 of 4 ranks were read"));
}

/// Decoding for 6 ms a step; `between` after every fifth.
template <typename Between>
Analysis server(Between between) {
  TimelineScene scene;
  for (int i = 0; i < 15; ++i) {
    scene.within("step[DECODE bs=" + std::to_string(i) + "]", EventKind::annotation, [&] {
      for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, 300'000);
      scene.synchronize();
    });
    if (i % 5 == 4) between(scene);
  }
  return of(scene.build());
}

TEST(Server, that_waits_for_requests_most_of_the_time_says_so_first) {
  const Analysis analysis = server([](TimelineScene& scene) {
    scene.within("scheduler.py(950): event_loop", EventKind::python, [&] {
      scene.range("<method 'recv' of 'zmq.backend.cython._zmq.Socket' objects>", 400'000'000, EventKind::python);
    });
  });
  EXPECT_THAT(analysis.verdict, StartsWith("Between steps the program waits for input or requests for 9"));
}

TEST(Pause, that_computes_keeps_the_gpu_busy) {
  TimelineScene scene;
  for (int i = 0; i < 15; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, 100'000);
      scene.synchronize();
    });
    if (i % 5 != 4) continue;
    scene.within("validate", EventKind::python, [&] {
      for (int k = 0; k < 50; ++k) scene.launch("validation_kernel", 1'000'000);
      scene.synchronize();
    });
  }
  EXPECT_THAT(of(scene.build()).verdict,
              HasSubstr("Between steps validate takes 100.0 ms in all and keeps the GPU busy."));
}

TEST(Server, that_replays_graphs_in_some_steps_captures_the_others) {
  TimelineScene scene;
  for (int i = 0; i < 24; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      if (i % 3 != 0) return scene.replay({kTensorGemm, kTensorGemm, kTensorGemm}, 2'000'000);
      scene.dispatch_ns = 100'000;
      for (int k = 0; k < 100; ++k) scene.launch(kTensorGemm, 20'000);
    });
    scene.synchronize();
  }
  const Analysis analysis = of(scene.build());
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr) << analysis.verdict;
  EXPECT_THAT(finding->recommendations.front().text, StartsWith("Capture in CUDA graphs what is still launched"));
}

TEST(Subprocess, is_work_of_the_host_and_no_input) {
  TimelineScene scene;
  for (int i = 0; i < 6; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      for (int k = 0; k < 5; ++k) scene.launch(kTensorGemm, 300'000);
      scene.synchronize();
      scene.within("subprocess.py(421): check_output", EventKind::python, [&] {
        scene.idle_host(1'000);
        scene.range("<method 'poll' of 'select.poll' objects>", 8'000'000, EventKind::python);
      });
    });
  }
  const Analysis analysis = of(scene.build());
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_work") << analysis.verdict;
  EXPECT_EQ(find(analysis, "waiting_for_input"), nullptr);
}

/// 18 ms of kernels, a wait for them, then 8 ms in a range of the program before the next launch.
Analysis with_range_after_wait(bool goes_on) {
  TimelineScene scene;
  for (int i = 0; i < 6; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      const auto launch = [&] {
        for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, 900'000);
      };
      if (i == 0) launch();
      scene.synchronize();
      scene.within("update_ema", EventKind::annotation, [&] {
        scene.idle_host(8'000'000);
        if (goes_on) launch();
      });
      if (!goes_on) launch();
    });
  }
  return of(scene.build());
}

TEST(Range, that_ends_before_the_launch_is_work_of_the_host) {
  const Analysis analysis = with_range_after_wait(false);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_work") << analysis.verdict;
  EXPECT_THAT(analysis.findings.front().title, HasSubstr("update_ema"));
}

TEST(Pause, is_named_by_the_innermost_function_that_takes_most_of_it) {
  TimelineScene scene;
  for (int i = 0; i < 15; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      scene.within("train.py(120): step", EventKind::python, [&] {
        if (i == 9) scene.range("gc: collect generation 2", 120'000'000, EventKind::python);
        for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, 100'000);
        scene.synchronize();
      });
    });
  }
  EXPECT_THAT(of(scene.build()).verdict, HasSubstr("Between steps gc: collect generation 2 takes"));
}

}  // namespace
}  // namespace warpmark::analyze
