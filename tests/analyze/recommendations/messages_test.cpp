// What collectives carry, and what it costs to carry it so: gradients cast to 32 bits, sums made on the host, shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::on_two_ranks;
using testing_support::TimelineScene;

/// Ranks that meet on the host copy nothing for it.
TEST(Messages, a_barrier_of_gloo_is_no_copy) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
    scene.synchronize();
    scene.range("gloo:barrier", 3'000'000);
  });
  const Analysis analysis = analyze(session);
  EXPECT_EQ(find(analysis, "host_transfer"), nullptr);
  EXPECT_EQ(find(analysis, "multi_gpu_comm"), nullptr);
}

/// As PyTorch's Gloo does it: a thread of its own waits for the copy to the host, sums up and copies back.
TEST(Messages, sums_that_a_thread_of_gloo_makes_are_no_loading_before_its_copy) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int rank) {
    constexpr std::uint32_t kGloo = 1;
    if (scene.timeline().tracks.size() == 1)
      scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "pt_gloo_runloop"});
    scene.launch(kTensorGemm, 1'000'000);
    for (int i = 0; i < 2; ++i) scene.copy(CopyKind::device_to_host, HostMemory::pinned, 8 << 20, 400'000, false);
    std::int64_t now = scene.now() + 1'820'000;
    for (int i = 0; i < 2; ++i) {
      scene.add({EventKind::annotation, now, 3'000'000, "gloo:all_reduce", kGloo});
      now += 3'000'000;
      const auto id = static_cast<std::uint32_t>(100'000 + now / 1000 + rank);
      scene.add({EventKind::runtime_api, now, 5'000, "cudaMemcpyAsync", kGloo, id});
      scene.add({EventKind::memcpy, now + 8'000, 400'000, "Memcpy HtoD", scene.stream(30), id, 8 << 20,
                 copy_detail(CopyKind::host_to_device, HostMemory::pinned)});
    }
    scene.idle_host(now + 420'000 - scene.now());
  });
  const Analysis analysis = analyze(session);
  EXPECT_EQ(find(analysis, "data_loading"), nullptr);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "multi_gpu_comm");
  EXPECT_GT(analysis.findings.front().severity, 0.9);
  EXPECT_THAT(analysis.findings.front().recommendations.front().snippet, testing::HasSubstr("nccl"));
}

TEST(Messages, a_host_that_is_ahead_of_its_gpu_may_shard_in_any_units) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int) {
    for (int i = 0; i < 10; ++i) {
      scene.within("FSDP::pre_forward (layer." + std::to_string(i) + ")", EventKind::annotation, [&] {
        scene.idle_host(400'000);
        scene.launch("ncclDevKernel_AllGather_RING_LL", 200'000);
      });
      scene.launch(kTensorGemm, 1'000'000);
    }
  });
  const Analysis analysis = analyze(session);
  const Finding* finding = find(analysis, "multi_gpu_comm");
  ASSERT_NE(finding, nullptr);
  EXPECT_LT(finding->gain.high, 1.7);
  for (const Recommendation& one : finding->recommendations) {
    EXPECT_THAT(one.text, testing::Not(testing::HasSubstr("larger units")));
    EXPECT_THAT(one.snippet, testing::Not(testing::HasSubstr("DistributedDataParallel")));
  }
}

}  // namespace
}  // namespace warpmark::analyze
