// Programs whose runtime copies results and arguments on threads of its own, as XLA's does.
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/host/hidden_waits.h"
#include "analyze/host/value_reads.h"
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

constexpr std::uint32_t kFirstPool = 1;

void add_pool(TimelineScene& scene, int threads = 1) {
  if (scene.timeline().tracks.size() > 1) return;
  for (int i = 0; i < threads; ++i) scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2 + i, -1, "pool"});
  (void)scene.stream(7);
}

void pool_copies(TimelineScene& scene, CopyKind kind, std::int64_t at, std::int64_t bytes, std::int64_t starts_after,
                 std::int64_t ns, std::uint32_t thread = kFirstPool) {
  static std::uint32_t id = 100'000;
  scene.add({EventKind::driver_api, at, 5'000, "cuMemcpyAsync", thread, ++id});
  scene.add({EventKind::memcpy, at + starts_after, ns, "Memcpy", scene.stream(9 + thread), id, bytes,
             copy_detail(kind, HostMemory::pinned)});
}

/// Four values a step, each read by a thread of the pool: the main thread is woken 200 us after the GPU is done.
Timeline values_read_by_a_pool() {
  return stepped(12, [](TimelineScene& scene) {
    add_pool(scene);
    for (int i = 0; i < 4; ++i) {
      scene.launch(kTensorGemm, 200'000);
      const std::int64_t gone = scene.now();
      pool_copies(scene, CopyKind::device_to_host, gone + 290'000, 4, 8'000, 2'000);
      scene.range("blocked", 400'000, EventKind::os_call);
      scene.idle_host(20'000);
    }
  });
}

TEST(PoolReads, cost_what_handing_them_over_takes) {
  const Analysis analysis = of(values_read_by_a_pool());
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  expect_gain(finding, 2.1);  // 425 us a value, 200 of it the GPU's
}

TEST(PoolReads, are_no_rounds_of_a_loop) {
  const Timeline timeline = values_read_by_a_pool();
  const WorkList list = list_work(timeline);
  EXPECT_EQ(find_value_reads(timeline, list, {}).rounds, 0);
}

TEST(PoolReads, of_many_arrays_at_once_are_a_transfer) {
  TimelineScene scene;
  add_pool(scene, 3);
  scene.launch(kTensorGemm, 200'000);
  const std::int64_t gone = scene.now();
  for (std::uint32_t i = 0; i < 3; ++i)
    pool_copies(scene, CopyKind::device_to_host, gone + 300'000 + 20'000 * i, i == 1 ? 1 << 22 : 2'048, 8'000, 2'000,
                kFirstPool + i);
  scene.range("blocked", 500'000, EventKind::os_call);
  scene.launch(kTensorGemm, 200'000);
  pool_copies(scene, CopyKind::device_to_host, scene.now() + 300'000, 2'048, 8'000, 2'000);
  const Timeline timeline = scene.build();
  const WorkList list = list_work(timeline);
  std::int64_t moving = 0, values = 0;
  for (const GpuWork& work : list.works) {
    if (work.category == Category::copy_to_host) (work.downloads ? moving : values) += 1;
  }
  EXPECT_EQ(moving, 3);
  EXPECT_EQ(values, 1);
  const auto waits = find_hidden_waits(timeline, list);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_TRUE(waits[0].moves_data);
}

TEST(PoolReads, that_begin_late_wait_for_the_host) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    add_pool(scene, 2);
    scene.launch(kTensorGemm, 300'000);
    const std::int64_t at = scene.now() + 310'000;
    pool_copies(scene, CopyKind::device_to_host, at, 1 << 22, 10'000, 80'000);
    pool_copies(scene, CopyKind::device_to_host, at + 6'000, 1 << 22, 900'000, 80'000, kFirstPool + 1);
    scene.idle_host(1'400'000);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_transfer");
  EXPECT_EQ(analysis.findings.front().severity, 1.0);
}

TEST(UploadsOfANumber, are_no_input) {
  const auto program = [](std::int64_t bytes) {
    return of(stepped(8, [bytes](TimelineScene& scene) {
      scene.launch(kTensorGemm, 200'000);
      scene.idle_host(2'000'000);
      scene.copy(CopyKind::host_to_device, HostMemory::pinned, bytes, 2'000, false);
    }));
  };
  const Analysis number = program(4), batch = program(4'096);
  EXPECT_EQ(find(number, "data_loading"), nullptr);
  EXPECT_NE(find(batch, "data_loading"), nullptr);
}

TEST(UploadsOfANumber, that_hold_the_host_until_the_gpu_is_done_are_waits) {
  const Analysis analysis = of(stepped(8, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000);
    scene.copy(CopyKind::host_to_device, HostMemory::pageable, 4, 2'000, true);  // cudaMemcpyToSymbol
    scene.idle_host(1'000'000);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "cpu_gpu_sync");
  EXPECT_EQ(find(analysis, "launch_overhead"), nullptr);
}

}  // namespace
}  // namespace warpmark::analyze
