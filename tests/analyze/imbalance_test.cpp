// A rank that makes the others wait: what of it is imbalance, and what is left when it is cured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "analyze/analyze.h"
#include "analyze/evidence.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::on_two_ranks;
using testing_support::TimelineScene;

constexpr const char* kTeacher = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64";
constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// Two ranks that meet in a collective after `work(scene, rank)`; the first waits `late_ns` for the second.
Analysis late_by(std::int64_t late_ns, const std::function<void(TimelineScene&, int)>& work,
                 const char* collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", const char* within = "step") {
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int rank) {
    work(scene, rank);
    scene.within(within, EventKind::annotation, [&] { scene.launch(collective, 50'000 + (rank == 0 ? late_ns : 0)); });
    scene.synchronize();
  });
  return analyze(session, {.tables = false});
}

TEST(Imbalance, longer_samples_on_one_rank_are_spread_over_all) {
  const Analysis analysis = late_by(8'100'000, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < 9; ++i) scene.launch(kTensorGemm, rank == 0 ? 100'000 : 1'000'000);
  });
  const Finding* finding = find(analysis, "load_imbalance");
  expect_gain(finding, 9.05 / 5.0);
  EXPECT_LT(finding->gain.high, 4);
}

TEST(Imbalance, kernels_of_one_rank_alone_go) {
  const Analysis analysis = late_by(8'100'000, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < 9; ++i) scene.launch(kTensorGemm, 100'000);
    for (int i = 0; i < (rank == 0 ? 0 : 81); ++i) scene.launch(kTeacher, 100'000);
  });
  expect_gain(find(analysis, "load_imbalance"), 9.05 / 0.95);
}

TEST(Imbalance, more_batches_on_one_rank_are_spread_over_all) {
  const Analysis analysis = late_by(8'100'000, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < (rank == 0 ? 3 : 30); ++i) {
      scene.launch(kTensorGemm, 200'000);
      scene.launch(kTeacher, 100'000);
    }
  });
  expect_gain(find(analysis, "load_imbalance"), 9.05 / 5.0);
}

TEST(Imbalance, what_one_rank_makes_for_the_others_is_spread_over_all) {
  const auto makes_it_all = [](TimelineScene& scene, int rank) {
    for (int i = 0; i < 9; ++i) scene.launch(kTensorGemm, 100'000);
    for (int i = 0; i < (rank == 0 ? 0 : 81); ++i) scene.launch(kTeacher, 100'000);
  };
  const char* sends = "ncclDevKernel_Broadcast_RING_LL";
  const Analysis results = late_by(8'100'000, makes_it_all, sends);
  expect_gain(find(results, "load_imbalance"), 9.05 / 5.0);
  const Analysis buffers = late_by(8'100'000, makes_it_all, sends, "DistributedDataParallel.forward");
  expect_gain(find(buffers, "load_imbalance"), 9.05 / 0.95);
}

TEST(Imbalance, what_one_rank_writes_on_its_host_goes) {
  const Analysis analysis = late_by(8'100'000, [](TimelineScene& scene, int rank) {
    if (rank == 1) scene.idle_host(8'100'000);
    for (int i = 0; i < 9; ++i) scene.launch(kTensorGemm, 100'000);
  });
  expect_gain(find(analysis, "load_imbalance"), 9.05 / 0.95);
}

TEST(Imbalance, a_host_that_launches_more_makes_its_rank_late) {
  const Analysis analysis = analyze(on_two_ranks(6, [](TimelineScene& scene, int rank) {
    const int kernels = rank == 0 ? 100 : 500;
    scene.dispatch_ns = 20'000;
    for (int i = 0; i < kernels; ++i) scene.launch(kTensorGemm, 4'000);
    scene.launch(kAllReduce, 50'000 + (500 - kernels) * 20'000);
    scene.synchronize();
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "load_imbalance");
  expect_gain(find(analysis, "load_imbalance"), 10.0 / 6.0);  // 300 kernels each
  std::vector<std::string> facts;
  for (const Fact& fact : analysis.findings.front().evidence) facts.push_back(fact.text);
  EXPECT_THAT(facts, testing::IsSupersetOf({"Rank 1, kernels per step: 500", "The other rank, kernels per step: 100",
                                            "Rank 1, host time to dispatch a step: 10.02 ms"}));
  const Finding* launches = find(analysis, "launch_overhead");
  EXPECT_TRUE(launches == nullptr || launches->severity < 0.5);  // of all hosts: a fifth
  const Finding* communication = find(analysis, "multi_gpu_comm");
  EXPECT_TRUE(communication == nullptr || communication->severity < 0.1);
}

/// Each reads a value after every second kernel, the first rank never.
TEST(Imbalance, waits_of_one_rank_alone_take_its_lead_too) {
  const Analysis analysis = analyze(on_two_ranks(6, [](TimelineScene& scene, int rank) {
    scene.dispatch_ns = 30'000;
    for (int i = 0; i < 100; ++i) {
      scene.launch(kTensorGemm, 35'000);
      if (rank == 1 && i % 2 == 0) scene.synchronize();
    }
    const std::int64_t later = 50 * (4'000 + 3'000 + 4'000) + 50 * 30'000;
    scene.launch(kAllReduce, 50'000 + (rank == 0 ? later : 0));
    scene.synchronize();
  }));
  const Finding* finding = find(analysis, "load_imbalance");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(analysis.findings.front().rule, "load_imbalance");
  const Finding* waits = find(analysis, "cpu_gpu_sync");
  EXPECT_TRUE(waits == nullptr || waits->severity < 0.2);
}

/// What kept the queue full began before the recording, which does not show it.
TEST(Imbalance, waiting_for_a_place_in_the_queue_is_no_dispatching) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int) {
    const std::int64_t waits = 4'000'000;
    scene.add({EventKind::overhead, scene.now(), waits, "Command Buffer Full"});
    scene.within("aten::mm", EventKind::op, [&] { scene.idle_host(waits); });
    for (int i = 0; i < 100; ++i) scene.launch(kTensorGemm, 50'000);
    scene.launch(kAllReduce, 50'000);
    scene.synchronize();
  });
  const Evidence evidence = gather_evidence(session);
  EXPECT_NEAR(evidence.rank().dispatch_ns(), 101 * 5'000, 101 * 1'000);
}

}  // namespace
}  // namespace warpmark::analyze
