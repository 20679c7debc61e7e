// What XLA's profiler records of a JAX program beside its launches: reading an array waits, staging an upload copies.
#include <gmock/gmock.h>

#include "analyze/evidence/evidence.h"
#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::of;
using testing_support::TimelineScene;

/// Steps that compute on the GPU, read the loss and dispatch for a while.
Timeline reading_the_loss(const char* read, EventKind kind, bool with_call) {
  TimelineScene scene;
  for (int i = 0; i < 8; ++i) {
    scene.within("train " + std::to_string(i), EventKind::annotation, [&] {
      scene.within("PjitFunction(step)", EventKind::op, [&] {
        scene.idle_host(400'000);
        scene.launch("gemm_fusion_dot", 2'000'000);
      });
      scene.within(read, kind, [&] {
        if (with_call) {
          scene.idle_host(2'000);
          scene.synchronize();
        } else {
          scene.idle_host(2'010'000);
        }
      });
    });
  }
  return scene.build();
}

double waits_per_step(const Analysis& analysis) {
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  if (finding == nullptr) return 0;
  for (const Fact& fact : finding->evidence) {
    if (fact.id == "syncs_per_step") return fact.value.value_or(0);
  }
  return 0;
}

TEST(XlaRanges, reading_an_array_is_one_wait_for_the_gpu) {
  const Analysis read = of(reading_the_loss("np.asarray(jax.Array)", EventKind::op, false));
  EXPECT_NEAR(waits_per_step(read), 1, 0.2);
  const Analysis ready = of(reading_the_loss("array.py:700 block_until_ready", EventKind::python, false));
  EXPECT_NEAR(waits_per_step(ready), 1, 0.2);
  const Analysis with_call = of(reading_the_loss("np.asarray(jax.Array)", EventKind::op, true));
  EXPECT_NEAR(waits_per_step(with_call), 1, 0.2);
  const Analysis other = of(reading_the_loss("a range of the user", EventKind::annotation, false));
  EXPECT_EQ(find(other, "cpu_gpu_sync"), nullptr);
}

/// A thread of XLA copies the batch into pinned memory and from there to the GPU, on a stream of its own: before the
/// step that needs it (`ahead`: while the GPU works on the step before), which the main thread launches then.
Timeline staging(bool ahead) {
  TimelineScene scene;
  const std::uint32_t runner = 1;
  scene.timeline().tracks.push_back({TrackKind::cpu_thread, 1, 2, -1, "pjrt_async_work_runner"});
  std::uint32_t id = 1000;
  std::int64_t now = 1'000'000;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t begin = now;
    const std::int64_t staged = begin + 3'000'000;
    scene.add({EventKind::op, begin, 3'000'000, "H2D Dispatch", runner});
    scene.add({EventKind::op, begin + 10'000, 2'950'000, "Transpose::Execute", runner});
    scene.add({EventKind::driver_api, staged + 20'000, 5'000, "cuMemcpyHtoDAsync", runner, ++id});
    scene.add({EventKind::memcpy, staged + 30'000, 300'000, "MemcpyH2D", scene.stream(15), id, 16 << 20,
               copy_detail(CopyKind::host_to_device, HostMemory::pinned)});
    const std::int64_t launch = staged + 40'000;
    scene.add({EventKind::annotation, ahead ? launch : begin, 4'000, "train", TimelineScene::kHost});
    scene.add({EventKind::driver_api, launch, 5'000, "cuGraphLaunch", TimelineScene::kHost, ++id});
    scene.add({EventKind::kernel, staged + 340'000, 2'900'000, "gemm_fusion_dot", scene.stream(14), id});
    now = ahead ? staged + 350'000 : staged + 3'300'000;
  }
  return scene.build();
}

double share(const Analysis& analysis, std::string_view part) {
  for (const BreakdownPart& one : analysis.breakdown) {
    if (one.id == part) return one.share;
  }
  return 0;
}

TEST(XlaRanges, staging_an_upload_is_part_of_the_transfer) {
  const Analysis analysis = of(staging(false));
  EXPECT_GT(share(analysis, "idle_host_transfer"), 0.4);
  EXPECT_LT(share(analysis, "idle_data_loading"), 0.05);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings[0].rule, "host_transfer");
}

TEST(XlaRanges, staging_ahead_is_no_wait_of_the_host) {
  const ProfileSession session = testing_support::session_of(staging(true));
  const Evidence evidence = gather_evidence(session);
  const RankEvidence& rank = evidence.rank();
  EXPECT_TRUE(rank.host->blocking_calls().empty());
  EXPECT_NEAR(rank.replay.step_ns() / 3'350'000, 1, 0.1);
}

}  // namespace
}  // namespace warpmark::analyze
