// What collectives carry, and what it costs to carry it so: gradients cast to 32 bits, objects packed by the host, sums
// made on the host, shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/evidence/evidence.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::kAllReduce;
using testing_support::kTensorGemm;
using testing_support::on_two_ranks;
using testing_support::TimelineScene;

constexpr const char* kBroadcast = "ncclDevKernel_Broadcast_RING_LL";
/// Describes every kernel of this name as a collective of so many elements.
void describe(ProfileSession& session, const char* kernel, const char* data_type, std::int64_t elements) {
  for (Timeline& timeline : session.ranks) {
    for (EventIndex i = 0; i < timeline.events.size(); ++i) {
      if (timeline.events.kind[i] != EventKind::kernel || timeline.name_of(i) != kernel) continue;
      Collective one;
      one.event = i;
      one.name = timeline.names.intern(kernel == kAllReduce ? "allreduce" : "broadcast");
      one.data_type = timeline.names.intern(data_type);
      one.group_size = 2;
      one.in_elements = one.out_elements = elements;
      timeline.collectives.push_back(one);
    }
  }
}

constexpr std::int64_t kObject = 4'000'000;

/// One rank sends what it holds: its size, then, copied to its GPU, itself, which is copied to the other's host.
ProfileSession objects(std::int64_t other_copies_bytes, bool tells_size = true) {
  constexpr const char* kSize = "ncclDevKernel_AllGather_RING_LL";
  ProfileSession session = on_two_ranks(6, [=](TimelineScene& scene, int rank) {
    scene.launch(kTensorGemm, 1'000'000);
    scene.synchronize();
    if (tells_size) scene.launch(kSize, 5'000);
    if (rank == 0) scene.copy(CopyKind::host_to_device, HostMemory::pageable, kObject - 1'000, 400'000, true);
    if (rank == 1) scene.idle_host(402'000);
    scene.launch(kBroadcast, 50'000);
    scene.copy(CopyKind::device_to_host, HostMemory::pageable, rank == 1 ? kObject : kObject / 2, 400'000, true);
    scene.copy(CopyKind::host_to_device, HostMemory::pageable, other_copies_bytes, 100'000, true);
  });
  describe(session, kSize, "Long", 1);
  describe(session, kBroadcast, "Byte", kObject);
  return session;
}

TEST(Messages, copies_of_objects_between_ranks_are_communication) {
  const Analysis analysis = analyze(objects(100'000));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "multi_gpu_comm");
  EXPECT_THAT(analysis.findings.front().recommendations.front().snippet, testing::HasSubstr("all_gather_into_tensor"));
  EXPECT_EQ(find(analysis, "host_transfer"), nullptr);
  EXPECT_GT(analysis.findings.front().gain.high, 1.2);
}

TEST(Messages, bytes_that_are_no_objects_leave_copies_copies) {
  for (const ProfileSession& session : {objects(50'000'000), objects(100'000, false)}) {
    const Evidence evidence = gather_evidence(session);
    EXPECT_EQ(evidence.rank().over_host, OverHost::nothing);
    const Analysis analysis = analyze(session);
    EXPECT_NE(find(analysis, "host_transfer"), nullptr);
  }
}

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
