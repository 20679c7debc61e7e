// A thread of a runtime that copies what the program gave into pinned memory before it uploads it.
#include "analyze/host/staged_uploads.h"

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/evidence/evidence.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

/// Each step a thread of a pool is on the processor for `works_ns` before it uploads `bytes`; the main thread waits.
Timeline uploaded_by_a_pool(std::int64_t works_ns, std::int64_t bytes) {
  std::uint32_t id = 900;
  return stepped(8, [&](TimelineScene& scene) {
    constexpr std::uint32_t kPool = 1;
    if (id == 900) {
      scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "pool"});
      (void)scene.stream(9);
    }
    const std::int64_t begin = scene.now();
    scene.add({EventKind::os_call, begin - 500'000, 500'000, "blocked", kPool});
    scene.idle_host(works_ns);
    scene.add({EventKind::driver_api, scene.now(), 5'000, "cuMemcpyHtoDAsync", kPool, ++id});
    scene.add({EventKind::memcpy, scene.now() + 5'000, 500'000, "Memcpy HtoD", scene.stream(9), id, bytes,
               copy_detail(CopyKind::host_to_device, HostMemory::pinned)});
    scene.idle_host(510'000);
    for (int i = 0; i < 4; ++i) scene.launch(kTensorGemm, 250'000);
    scene.idle_host(1'000'000);
  });
}

double share_of_part(const Analysis& analysis, std::string_view part) {
  for (const BreakdownPart& one : analysis.breakdown) {
    if (one.id == part) return one.share;
  }
  return 0;
}

TEST(StagedUploads, are_part_of_the_transfer) {
  const Analysis analysis = of(uploaded_by_a_pool(5'000'000, 32 << 20));
  EXPECT_GT(share_of_part(analysis, "idle_host_transfer"), 0.6);
  EXPECT_LT(share_of_part(analysis, "idle_data_loading"), 0.05);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings[0].rule, "host_transfer");
}

TEST(StagedUploads, take_no_longer_than_copying_does) {
  const Analysis analysis = of(uploaded_by_a_pool(5'000'000, 2 << 20));  // the thread made what it uploads
  EXPECT_GT(share_of_part(analysis, "idle_data_loading"), 0.5);
  EXPECT_LT(share_of_part(analysis, "idle_host_transfer"), 0.1);
}

TEST(StagedUploads, whose_call_returns_before_the_copy_ends_do_not_wait_for_the_gpu) {
  std::uint32_t id = 900;
  const ProfileSession session = testing_support::session_of(stepped(8, [&](TimelineScene& scene) {
    constexpr std::uint32_t kPool = 1;
    if (id == 900) {
      scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "pool"});
      (void)scene.stream(9);
    }
    scene.launch(kTensorGemm, 2'000'000);
    scene.add({EventKind::driver_api, scene.now(), 60'000, "cuMemcpyHtoDAsync", kPool, ++id});
    scene.add({EventKind::memcpy, scene.now() + 5'000, 200'000, "Memcpy HtoD", scene.stream(9), id, 8 << 20,
               copy_detail(CopyKind::host_to_device, HostMemory::pinned)});
    scene.idle_host(1'400'000);
  }));
  EXPECT_NEAR(gather_evidence(session).rank().replay.step_ns() / 2'000'000, 1, 0.05);
}

}  // namespace
}  // namespace warpmark::analyze
