// Who is attributed for idle time: a wait for no more than was waited, the host for what it does by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::HasSubstr;
using testing_support::find;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

double share_of(const Analysis& analysis, const std::string& part) {
  for (const BreakdownPart& one : analysis.breakdown) {
    if (one.id == part) return one.share;
  }
  return 0;
}

void launch_layers(TimelineScene& scene) {
  for (int i = 0; i < 20; ++i) scene.launch("kernel_" + std::to_string(i), 100'000);
}

TEST(HostAlone, work_after_a_wait_is_the_hosts) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    launch_layers(scene);
    scene.synchronize();
    scene.range("preprocess.py(10): tokenize", 7'740'000, EventKind::python);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& first = analysis.findings.front();
  EXPECT_EQ(first.rule, "host_work");
  EXPECT_THAT(first.title, HasSubstr("tokenize (preprocess.py:10)"));
  EXPECT_GT(share_of(analysis, "idle_host_work"), 0.7);
  EXPECT_LT(share_of(analysis, "idle_sync"), 0.05);
}

TEST(HostAlone, an_operator_that_launches_nothing_is_work_and_no_dispatch) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    launch_layers(scene);
    scene.range("aten::sort", 9'000'000, EventKind::op);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_work");
  EXPECT_THAT(analysis.findings.front().title, HasSubstr("aten::sort"));
  for (const Recommendation& one : analysis.findings.front().recommendations)
    EXPECT_THAT(one.text + one.snippet, testing::Not(HasSubstr("graph")));
}

TEST(HostAlone, many_short_operators_that_launch_nothing_are_work_and_no_dispatch) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    launch_layers(scene);
    for (int i = 0; i < 200; ++i) {
      scene.range("aten::add", 30'000, EventKind::op);
      scene.idle_host(5'000);
    }
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_work");
  EXPECT_THAT(analysis.findings.front().title, HasSubstr("aten::add"));
}

TEST(HostAlone, an_operator_around_its_launches_is_dispatch_and_no_work) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    scene.within("Torch-Compiled Region: 0/0", EventKind::op, [&] {
      for (int i = 0; i < 10; ++i) {
        scene.idle_host(800'000);
        scene.launch("kernel_" + std::to_string(i), 100'000);
      }
    });
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "launch_overhead");
}

/// Each step: `before_ns` of the host, launches of 2 ms of work, a wait for it, and `after_ns` of the host.
Analysis with_a_wait(int steps, std::int64_t before_ns, std::int64_t after_ns) {
  return of(stepped(steps, [=](TimelineScene& scene) {
    scene.idle_host(before_ns);
    launch_layers(scene);
    scene.synchronize();
    scene.idle_host(after_ns);
  }));
}

TEST(HostAlone, what_lasts_longer_than_the_wait_before_it_is_the_hosts) {
  const Analysis analysis = with_a_wait(8, 0, 7'800'000);
  EXPECT_LT(share_of(analysis, "idle_sync"), 0.05);
  EXPECT_GT(share_of(analysis, "idle_host_work"), 0.7);
}

TEST(HostAlone, what_a_wait_leaves_no_time_for_is_the_waits) {
  const Analysis analysis = with_a_wait(8, 0, 1'500'000);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "cpu_gpu_sync");
  EXPECT_NEAR(share_of(analysis, "idle_sync"), 0.42, 0.03);
}

TEST(HostAlone, one_step_and_two_have_the_same_cause) {
  for (const int steps : {1, 2}) {
    const Analysis analysis = with_a_wait(steps, 5'000'000, 700'000);
    ASSERT_FALSE(analysis.findings.empty());
    EXPECT_EQ(analysis.findings.front().rule, "host_work") << steps << " steps";
    EXPECT_GT(analysis.findings.front().severity, kCritical) << steps << " steps";
    EXPECT_GT(share_of(analysis, "idle_host_work"), 0.6) << steps << " steps";
  }
}

TEST(HostAlone, an_idle_server_waits_for_requests) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    launch_layers(scene);
    scene.synchronize();
    scene.range("queue.py(154): get", 50'000'000, EventKind::python);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "waiting_for_input");
  EXPECT_GT(share_of(analysis, "idle_waiting_for_input"), 0.9);
}

TEST(HostAlone, a_backward_pass_on_another_thread_is_no_work_of_the_caller) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "autograd"});
  for (int step = 0; step < 6; ++step) {
    const std::int64_t start = scene.now();
    launch_layers(scene);
    scene.add({EventKind::python, scene.now(), 3'000'000, "<built-in method run_backward of torch>"});
    for (std::uint32_t i = 0; i < 20; ++i) {
      const std::int64_t at = scene.now() + 200'000 + i * 130'000;
      const std::uint32_t id = 10'000 + static_cast<std::uint32_t>(step) * 100 + i;
      scene.add({EventKind::runtime_api, at, 2'000, "cudaLaunchKernel", 1, id});
      scene.add({EventKind::kernel, at + 4'000, 50'000, "gradient_" + std::to_string(i), scene.stream(7), id});
    }
    scene.idle_host(3'000'000);
    scene.add({EventKind::annotation, start, scene.now() - start, "ProfilerStep#" + std::to_string(step)});
  }
  const Analysis analysis = of(scene.build());
  EXPECT_LT(share_of(analysis, "idle_host_work"), 0.05);
}

TEST(HostAlone, a_copy_call_that_outlasts_its_copy_is_a_blocking_call) {
  TimelineScene scene;
  scene.within("step[DECODE bs=32]", EventKind::annotation, [&] {
    scene.launch("add", 4'000);
    scene.add({EventKind::runtime_api, scene.now(), 460'000'000, "hipMemcpyWithStream", TimelineScene::kHost, 77});
    scene.idle_host(460'000'000);
    scene.add({EventKind::memcpy, scene.now() - 20'000, 4'500, "Memcpy DtoH", scene.stream(3), 77, 256,
               copy_detail(CopyKind::device_to_host, HostMemory::unknown)});
    scene.replay(std::vector<std::string>(500, "kernel"), 19'000);
  });
  const Analysis analysis = of(scene.build());
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "blocking_call");
  EXPECT_THAT(analysis.findings.front().title, HasSubstr("hipMemcpyWithStream"));
}

TEST(HostAlone, graphs_without_kernels_are_missing_work_and_no_idle_gpu) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.launch("prepare", 30'000);
    scene.api("cudaGraphLaunch", 60'000);
    scene.api("cudaStreamSynchronize", 9'500'000);
  }));
  EXPECT_THAT(analysis.verdict, HasSubstr("GPU work is missing: 6 of 6"));
  EXPECT_GT(share_of(analysis, "idle_unknown"), 0.9);
  EXPECT_TRUE(analysis.findings.empty()) << analysis.findings.front().title;
}

TEST(HostAlone, ranks_merged_into_one_file_are_told_apart) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({TrackKind::cpu_thread, 2, 1, -1, "other"});
  scene.timeline().tracks.push_back({TrackKind::gpu_stream, 1, 7, 0, ""});
  scene.timeline().tracks.push_back({TrackKind::gpu_stream, 1, 7, 1, ""});
  std::uint32_t id = 0;
  for (const std::uint32_t rank : {0U, 1U}) {
    for (int step = 0; step < 6; ++step) {
      const std::int64_t start = 1'000'000 + step * 10'000'000;
      scene.add({EventKind::annotation, start, 9'900'000, "ProfilerStep#" + std::to_string(step), rank});
      for (int i = 0; i < 20; ++i) {
        ++id;
        const std::int64_t length = rank == 0 ? 300'000 : 150'000;
        scene.add({EventKind::runtime_api, start + i * 20'000, 5'000, "cudaLaunchKernel", rank, id});
        scene.add({EventKind::kernel, start + 100'000 + i * length, length, "gemm", 2 + rank, id});
      }
    }
  }
  const Analysis analysis = of(scene.build());
  ASSERT_EQ(analysis.ranks.size(), 2U);
  EXPECT_NE(analysis.ranks[0].rank, analysis.ranks[1].rank);
  EXPECT_NEAR(analysis.ranks[0].breakdown.front().share, 0.6, 0.02);
  EXPECT_NEAR(analysis.ranks[1].breakdown.front().share, 0.3, 0.02);
}

}  // namespace
}  // namespace warpmark::analyze
