// Waits of the host that no CUDA call tells, and what follows from them.
#include "analyze/host/hidden_waits.h"

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kFp32Gemm = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma_aligna4_alignc4_execute_kernel";

void off_the_processor(TimelineScene& scene, std::int64_t ns) { scene.range("blocked", ns, EventKind::os_call); }

TEST(HiddenWaits, end_soon_after_the_work_that_they_are_for) {
  TimelineScene scene;
  scene.launch(kTensorGemm, 1'000'000);  // begins 4 us after the call, ends 999 us after the thread is off
  const std::int64_t gone = scene.now();
  off_the_processor(scene, 5'000'000);
  scene.launch(kTensorGemm, 10'000);
  const Timeline timeline = scene.build();
  const auto waits = find_hidden_waits(timeline, list_work(timeline));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].start, gone);
  EXPECT_EQ(waits[0].end, gone + 999'000 + kOwnWorkNs);  // and what comes after is for something else
  EXPECT_FALSE(waits[0].moves_data);
}

TEST(HiddenWaits, are_none_where_no_work_ends) {
  TimelineScene scene;
  scene.launch(kTensorGemm, 100'000);
  scene.idle_host(500'000);
  off_the_processor(scene, 3'000'000);
  scene.launch(kTensorGemm, 100'000);
  const Timeline timeline = scene.build();
  EXPECT_TRUE(find_hidden_waits(timeline, list_work(timeline)).empty());
}

TEST(HiddenWaits, of_a_thread_that_launches_little_are_for_its_own_work) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "pool"});
  constexpr std::uint32_t kPool = 1;
  scene.add({EventKind::runtime_api, scene.now(), 2'000, "cudaMemcpyAsync", kPool, 900});
  scene.add({EventKind::memcpy, scene.now() + 5'000, 1'000'000, "Memcpy DtoH", scene.stream(9), 900, 1 << 26,
             copy_detail(CopyKind::device_to_host, HostMemory::pinned)});
  const std::int64_t gone = scene.now() + 3'000;
  scene.add({EventKind::os_call, gone, 50'000'000, "pthread_cond_wait", kPool});
  for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 2'000'000);
  const Timeline timeline = scene.build();
  const auto waits = find_hidden_waits(timeline, list_work(timeline));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].end, gone + 1'002'000 + kOwnWorkNs);
  EXPECT_TRUE(waits[0].moves_data);
}

/// The main thread is off the processor for 200 of the 300 us in which a thread of a pool copies something.
Timeline handed_to_a_pool(const char* call, CopyKind kind) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "pool"});
  constexpr std::uint32_t kPool = 1;
  for (int i = 0; i < 5; ++i) {
    scene.launch(kTensorGemm, 3'000);
    const std::int64_t gone = scene.now();
    off_the_processor(scene, 200'000);
    const auto id = static_cast<std::uint32_t>(900 + i);
    scene.add({EventKind::driver_api, gone + 230'000, 5'000, call, kPool, id});
    scene.add({EventKind::memcpy, gone + 240'000, 2'000, "Memcpy", scene.stream(9), id, 4, copy_detail(kind, {})});
    scene.idle_host(100'000);
  }
  scene.launch(kTensorGemm, 3'000);
  return scene.build();
}

TEST(HiddenWaits, are_not_for_the_gpu_while_another_thread_uploads) {
  const Timeline timeline = handed_to_a_pool("cuMemcpyHtoDAsync_v2", CopyKind::host_to_device);
  EXPECT_TRUE(find_hidden_waits(timeline, list_work(timeline)).empty());
}

TEST(HiddenWaits, are_for_what_another_thread_reads) {
  const Timeline timeline = handed_to_a_pool("cuMemcpyDtoHAsync_v2", CopyKind::device_to_host);
  const auto waits = find_hidden_waits(timeline, list_work(timeline));
  ASSERT_EQ(waits.size(), 5U);
  EXPECT_EQ(waits[0].end - waits[0].start, 200'000);
}

TEST(HiddenWaits, are_attributed_for_the_idle_time_that_follows_them) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 50'000);
    scene.copy(CopyKind::device_to_host, HostMemory::pinned, 4, 2'000, false);
    off_the_processor(scene, 480'000);  // the GPU is done some 450 us later
    scene.idle_host(400'000);           // Python, which a wait less often would hide
  }));
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  expect_gain(finding, 1.8);  // 500 of 920 us
  EXPECT_EQ(analysis.findings.front().rule, "cpu_gpu_sync");
}

/// Two steps ahead of the GPU all the time, though nothing that was recorded waits.
Analysis held_back(std::int64_t pause_ns) {
  int step = 0;
  return of(stepped(12, [&](TimelineScene& scene) {
    for (int i = 0; i < 8; ++i) scene.launch(kFp32Gemm, 1'000'000);
    if (++step > 2) scene.idle_host(pause_ns);
  }));
}

TEST(HiddenWaits, of_a_host_that_is_held_back_are_no_work) {
  const Analysis analysis = held_back(8'000'000 - 8 * 5'000);
  const Finding* finding = find(analysis, "precision");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(finding->gain.high, 2);
}

TEST(HiddenWaits, are_not_taken_from_a_host_that_gets_ahead) {
  const Analysis analysis =
      held_back(4'000'000);  // half of what the GPU takes: the host's own work, as far as is known
  const Finding* finding = find(analysis, "precision");
  ASSERT_NE(finding, nullptr);
  EXPECT_LT(finding->gain.high, 2.3);
}

TEST(WaitsForRelease, belong_to_the_memory_that_is_given_back) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    for (int i = 0; i < 4; ++i) {
      scene.launch(kTensorGemm, 30'000);
      scene.synchronize();
      scene.api("cudaFree", 60'000);
      scene.api("cudaMalloc", 60'000);
    }
  }));
  const Finding* finding = find(analysis, "memory_allocation");
  expect_gain(finding, 4.5);
  EXPECT_EQ(find(analysis, "cpu_gpu_sync"), nullptr);
}

/// Products of 12 ms on FP32 units, whose last launch waits for a place in the queue; then `between` short kernels and
/// the next batch's upload.
Analysis of_full_queue(int between) {
  TimelineScene scene;
  const std::uint32_t stream = scene.stream(7);
  std::uint32_t id = 0;
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::int64_t begin = 1'000'000 + step * 12'100'000;
    scene.add({EventKind::annotation, begin, 12'100'000, "ProfilerStep#" + std::to_string(step)});
    for (std::int64_t i = 0; i < 50; ++i) {
      const std::int64_t call = i < 49 ? 2'000 : 11'700'000;
      scene.add({EventKind::runtime_api, begin + i * 3'000, call, "cudaLaunchKernel", TimelineScene::kHost, ++id});
      scene.add({EventKind::kernel, begin + 10'000 + i * 240'000, 240'000, "ampere_sgemm_128x64_nn", stream, id});
    }
    const std::int64_t after = begin + 12'000'000;
    for (std::int64_t i = 0; i <= between; ++i) {
      const bool last = i == between;
      const char* call = last ? "cudaMemcpyAsync" : "cudaLaunchKernel";
      scene.add({EventKind::runtime_api, after + i * 5'000, 2'000, call, TimelineScene::kHost, ++id});
      const EventKind kind = last ? EventKind::memcpy : EventKind::kernel;
      scene.add({kind, after + 20'000 + i * 5'000, 2'000, last ? "Memcpy HtoD" : "draw", stream, id, last ? 1 << 20 : 0,
                 last ? copy_detail(CopyKind::host_to_device, HostMemory::pinned) : 0});
    }
  }
  return of(scene.build());
}

TEST(HiddenWaits, for_a_place_in_the_queue_are_no_loading) {
  for (const int between : {0, 3}) {
    const Analysis analysis = of_full_queue(between);
    const Finding* finding = find(analysis, "precision");
    ASSERT_NE(finding, nullptr);
    EXPECT_GT(finding->gain.high, 4) << between;
  }
}

}  // namespace
}  // namespace warpmark::analyze
