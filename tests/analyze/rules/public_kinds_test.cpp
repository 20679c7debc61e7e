// Kinds of recordings that published profiles show: first launches, captured graphs, unified memory, one-block kernels,
// copies that dwarf the kernels, work beside the critical path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::find;
using testing_support::iterated;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

TEST(PublicKinds, a_first_launch_that_loads_its_code_is_no_dispatch) {
  TimelineScene scene;
  scene.launch("first", 20'000);
  for (int i = 0; i < 4; ++i) {
    const std::string name = "kernel_" + std::to_string(i);
    scene.add({EventKind::runtime_api, scene.now(), 300'000'000, "hipLaunchKernel", TimelineScene::kHost,
               900U + static_cast<unsigned>(i)});
    scene.idle_host(300'000'000);
    scene.add({EventKind::kernel, scene.now() + 4'000, 20'000, name, scene.stream(7), 900U + static_cast<unsigned>(i)});
    scene.idle_host(30'000);
  }
  const Analysis analysis = of(scene.build());
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "blocking_call");
  EXPECT_THAT(analysis.findings.front().title, HasSubstr("hipLaunchKernel"));
  EXPECT_THAT(analysis.findings.front().recommendations.front().text, HasSubstr("before those that you record"));
  EXPECT_EQ(find(analysis, "launch_overhead"), nullptr);
}

TEST(PublicKinds, captured_launches_are_missing_work) {
  TimelineScene scene;
  scene.launch("before", 10'000);
  scene.api("cudaStreamBeginCapture", 5'000);
  for (int i = 0; i < 40; ++i) scene.api("cudaLaunchKernel", 5'000);
  scene.api("cudaStreamEndCapture", 5'000);
  scene.idle_host(1'000'000);
  scene.launch("after", 10'000);
  const Analysis analysis = of(scene.build());
  EXPECT_THAT(analysis.verdict, HasSubstr("GPU work is missing: 40 of 42 kernel launches"));
  EXPECT_THAT(analysis.verdict, HasSubstr("captured CUDA graphs"));
}

TEST(PublicKinds, captured_launches_of_a_graph_that_is_replayed_are_not_missing) {
  TimelineScene scene;
  scene.api("cudaStreamBeginCapture", 5'000);
  for (int i = 0; i < 40; ++i) scene.api("cudaLaunchKernel", 5'000);
  scene.api("cudaStreamEndCapture", 5'000);
  for (int i = 0; i < 5; ++i) scene.replay({"whole graph"}, 1'000'000);
  EXPECT_THAT(of(scene.build()).verdict, ::testing::Not(HasSubstr("missing")));
}

TEST(PublicKinds, launches_without_any_work_of_the_gpu_are_missing_work) {
  TimelineScene scene;
  for (int i = 0; i < 5; ++i) scene.api("cudaLaunchKernel", 5'000);
  EXPECT_THAT(of(scene.build()).verdict, HasSubstr("GPU work is missing: 5 of 5 kernel launches"));
}

/// Copies do not stand for kernels, and what the GPU did until the host had waited is not idle time.
TEST(PublicKinds, launches_next_to_copies_without_any_kernel_leave_the_idle_time_unknown) {
  TimelineScene scene;
  for (int i = 0; i < 3; ++i) scene.copy(CopyKind::host_to_device, HostMemory::pageable, 4'194'304, 700'000, true);
  for (int i = 0; i < 5; ++i) scene.api("cudaLaunchKernel", 5'000);
  scene.api("cudaEventSynchronize", 100'000'000);
  scene.copy(CopyKind::device_to_host, HostMemory::pageable, 4'194'304, 1'500'000, true);
  const Analysis analysis = of(scene.build());
  EXPECT_THAT(analysis.verdict, HasSubstr("GPU work is missing: 5 of 5 kernel launches"));
  const auto& parts = analysis.breakdown;
  const auto unknown = std::ranges::find(parts, "idle_unknown", &BreakdownPart::id);
  ASSERT_NE(unknown, parts.end());
  EXPECT_GT(unknown->share, 0.9);
}

/// The runtime's launch calls the driver's, and profilers may record both.
TEST(PublicKinds, a_launch_of_the_driver_within_one_of_the_runtime_is_counted_once) {
  TimelineScene scene;
  for (unsigned i = 0; i < 4; ++i) {
    scene.add({EventKind::runtime_api, scene.now(), 6'000, "cudaLaunchKernel", TimelineScene::kHost, 900U + i});
    scene.add({EventKind::driver_api, scene.now() + 1'000, 4'000, "cuLaunchKernel", TimelineScene::kHost, 950U + i});
    scene.idle_host(6'000);
  }
  EXPECT_THAT(of(scene.build()).verdict, HasSubstr("GPU work is missing: 4 of 4 kernel launches"));
}

TEST(PublicKinds, a_few_launches_without_work_are_not_most) {
  TimelineScene scene;
  for (int i = 0; i < 20; ++i) scene.launch("kernel_" + std::to_string(i), 50'000);
  for (int i = 0; i < 3; ++i) scene.api("cudaLaunchKernel", 5'000);
  EXPECT_THAT(of(scene.build()).verdict, ::testing::Not(HasSubstr("missing")));
}

/// Pages move on a stream that nothing is launched on.
TEST(PublicKinds, pages_of_unified_memory_are_no_second_gpu) {
  TimelineScene scene;
  const std::uint32_t pages = scene.stream(0);
  scene.launch("add", 5'000'000);
  for (int i = 0; i < 40; ++i) {
    scene.add({EventKind::memcpy, 1'100'000 + i * 100'000, 50'000, "Memcpy HtoD", pages, 0, 1 << 20,
               copy_detail(CopyKind::host_to_device, HostMemory::managed)});
  }
  scene.synchronize();
  EXPECT_EQ(of(scene.build()).ranks.size(), 1U);
}

TEST(PublicKinds, copies_that_dwarf_the_kernels_gain_no_more_than_overlap_and_pinning_allow) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    scene.copy(CopyKind::host_to_device, HostMemory::pageable, 600'000'000, 180'000'000, true);
    scene.launch("saxpy", 10'000'000);
    scene.copy(CopyKind::device_to_host, HostMemory::pageable, 300'000'000, 90'000'000, true);
  }));
  const Finding* copies = find(analysis, "host_transfer");
  ASSERT_NE(copies, nullptr);
  EXPECT_LT(copies->gain.high, 3.3) << "the copies to the GPU still take half of their time";
  EXPECT_GT(copies->gain.high, 2.5);
}

TEST(PublicKinds, pinned_copies_gain_no_more_than_hiding_the_kernels_behind_them) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    scene.copy(CopyKind::host_to_device, HostMemory::pinned, 600'000'000, 90'000'000, true);
    scene.launch("saxpy", 10'000'000);
  }));
  const Finding* copies = find(analysis, "host_transfer");
  ASSERT_NE(copies, nullptr);
  EXPECT_LT(copies->gain.high, 1.2);
}

TEST(PublicKinds, a_kernel_of_one_block_is_critical_in_a_program_of_its_own) {
  TimelineScene scene;
  scene.launch("add", 2'000'000'000, 1);
  scene.synchronize();
  const Analysis analysis = of(scene.build());
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "gpu_underused");
  EXPECT_GE(analysis.findings.front().severity, 0.4);
}

TEST(PublicKinds, small_kernels_of_a_framework_stay_a_note) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.within("aten::mm", EventKind::op, [&] { scene.launch(kTensorGemm, 2'000'000, 1); });
  }));
  const Finding* small = find(analysis, "gpu_underused");
  ASSERT_NE(small, nullptr);
  EXPECT_LE(small->severity, 0.2);
}

/// The host draws numbers for 10 ms while the GPU multiplies for 6: faster products would wait for the host longer.
TEST(PublicKinds, work_beside_the_critical_path_is_not_severe) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    scene.range("aten::normal_", 10'000'000, EventKind::op);
    scene.within("aten::mm", EventKind::op, [&] { scene.launch("volta_sgemm_128x64_tn", 6'000'000); });
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_work");
  const Finding* precision = find(analysis, "precision");
  ASSERT_NE(precision, nullptr);
  EXPECT_LT(precision->severity, 0.1);
}

/// The GPU never idles: what the host does between two steps, and nobody recorded, is no limit.
TEST(PublicKinds, a_host_that_keeps_the_gpu_busy_does_not_limit_what_a_kernel_gains) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    scene.within("aten::mm", EventKind::op, [&] { scene.launch("volta_sgemm_128x64_tn", 1'000'000); });
    scene.within("aten::add", EventKind::op, [&] { scene.launch("add", 1'000'000); });
    scene.idle_host(1'980'000);
  }));
  const Finding* precision = find(analysis, "precision");
  ASSERT_NE(precision, nullptr);
  EXPECT_GT(precision->gain.high, 1.5);
}

TEST(PublicKinds, host_time_that_was_not_recorded_promises_nothing) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    scene.launch(kTensorGemm, 500'000);
    scene.synchronize();
    scene.idle_host(20'000'000);
  }));
  const Finding* host = find(analysis, "host_work");
  ASSERT_NE(host, nullptr);
  EXPECT_TRUE(host->gain.unknown);
  EXPECT_EQ(host->gain.low, 1);
  EXPECT_EQ(host->gain.high, 1);
  EXPECT_LT(analysis.combined.high, 1.1) << "all fixes together promise no more";
  EXPECT_THAT(host->title, HasSubstr("not recorded"));
  EXPECT_EQ(host->recommendations.front().kind, AdviceKind::command);
}

TEST(PublicKinds, a_memset_alone_is_no_healthy_program) {
  TimelineScene scene;
  scene.add({EventKind::memset, 1'000'000, 1'500, "Memset", scene.stream(7), 0, 4096});
  EXPECT_THAT(of(scene.build()).verdict, HasSubstr("No kernel was recorded"));
}

TEST(PublicKinds, layers_and_collectives_are_no_steps) {
  for (const std::string& part : {std::string("TransformerLayer_"), std::string("nccl:all_gather ")}) {
    TimelineScene scene;
    for (int i = 0; i < 6; ++i) {
      const std::string name = part + std::to_string(i);
      scene.within(name, EventKind::annotation, [&] { scene.launch("kernel_" + std::to_string(i), 3'000'000); });
    }
    scene.synchronize();
    EXPECT_THAT(of(scene.build()).steps_found_by, "whole recording") << part;
  }
}

TEST(PublicKinds, copies_that_nothing_can_hide_come_first_and_their_gain_is_not_known) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.copy(CopyKind::host_to_device, HostMemory::pinned, 50 << 20, 3'000'000, true);
    scene.launch(kTensorGemm, 100'000);
    scene.synchronize();
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_transfer");
  EXPECT_TRUE(analysis.findings.front().gain.unknown);
  EXPECT_GT(analysis.findings.front().severity, kCritical);
}

TEST(PublicKinds, what_the_system_does_within_an_allocation_is_part_of_it) {
  for (const char* call : {"cudaMallocPitch", "hipHostMalloc", "hipMemUnmap"}) {
    const Analysis analysis = of(stepped(6, [call](TimelineScene& scene) {
      scene.launch(kTensorGemm, 1'000'000);
      scene.synchronize();
      scene.within(call, EventKind::runtime_api, [&] { scene.range("ioctl", 3'000'000, EventKind::os_call); });
    }));
    ASSERT_FALSE(analysis.findings.empty()) << call;
    EXPECT_EQ(analysis.findings.front().rule, "memory_allocation") << call;
  }
}

TEST(PublicKinds, a_program_that_reads_what_somebody_types_waits_for_input) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.launch(kTensorGemm, 1'000'000);
    scene.synchronize();
    scene.range("getc", 50'000'000, EventKind::os_call);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "waiting_for_input");
}

/// Steps of 10 ms without a recorded wait: the host launches the next when the all-reduce at the end is over.
TEST(PublicKinds, communication_at_the_end_of_a_step_that_the_host_waits_for_unseen_is_not_overlapped_by_the_next) {
  TimelineScene scene;
  std::uint32_t id = 0;
  for (int i = 0; i < 8; ++i) {
    const std::int64_t begin = 1'000'000 + i * 10'000'000;
    scene.add({EventKind::annotation, begin, 9'995'000, "ProfilerStep#" + std::to_string(i)});
    for (int k = 0; k < 3; ++k) {
      const bool last = k == 2;
      scene.add({EventKind::runtime_api, begin + k * 10'000, 5'000, "cudaLaunchKernel", TimelineScene::kHost, ++id});
      scene.add({EventKind::kernel, begin + 10'000 + k * 2'990'000, last ? 4'000'000 : 2'980'000,
                 last ? testing_support::kAllReduce : kTensorGemm, scene.stream(last ? 20 : 7), id});
    }
  }
  const Analysis analysis = of(scene.build());
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "multi_gpu_comm") << analysis.verdict;
  EXPECT_NEAR(analysis.findings.front().gain.high, 1.67, 0.03) << "without 4 of 10 ms";
}

/// The launching thread has waited for the GPU, and goes on when another thread has done its work.
TEST(PublicKinds, what_another_thread_does_for_just_as_long_is_what_the_launching_thread_waits_for) {
  for (const bool named : {true, false}) {
    TimelineScene scene;
    const ::warpmark::Track main = scene.timeline().tracks[TimelineScene::kHost];
    scene.timeline().tracks.push_back({TrackKind::cpu_thread, main.process, main.thread + 1, -1, "output"});
    const auto other = static_cast<std::uint32_t>(scene.timeline().tracks.size() - 1);
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::int64_t begin = 1'000'000 + i * 13'000'000LL;
      scene.add({EventKind::annotation, begin, 7'990'000, "execute_model_" + std::to_string(i)});
      scene.add({EventKind::runtime_api, begin + 20'000, 6'000, "cudaLaunchKernel", TimelineScene::kHost, i + 1});
      scene.add({EventKind::kernel, begin + 90'000, 7'800'000, kTensorGemm, scene.stream(7), i + 1});
      scene.add({EventKind::runtime_api, begin + 200'000, 7'720'000, "cudaEventSynchronize"});
      if (!named) continue;
      scene.add({EventKind::python, begin + 8'000'000, 4'970'000, "async_llm.py(400): output_handler", other});
      scene.add({EventKind::python, begin + 8'002'000, 4'966'000, "detokenizer.py(90): update", other});
    }
    const Analysis analysis = of(scene.build());
    ASSERT_FALSE(analysis.findings.empty());
    EXPECT_EQ(analysis.findings.front().rule, named ? "host_work" : "cpu_gpu_sync") << analysis.verdict;
    const bool says = analysis.verdict.find("update (detokenizer.py:90)") != std::string::npos;
    EXPECT_EQ(says, named) << analysis.verdict;
  }
}

}  // namespace
}  // namespace warpmark::analyze
