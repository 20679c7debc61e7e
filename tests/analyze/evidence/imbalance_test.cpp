// A rank that makes the others wait: what of it is imbalance, and what is left when it is fixed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "analyze/analyze.h"
#include "analyze/evidence/evidence.h"
#include "analyze/evidence/imbalance.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::kAllReduce;
using testing_support::kTensorGemm;
using testing_support::on_ranks;
using testing_support::on_two_ranks;
using testing_support::TimelineScene;

constexpr const char* kTeacher = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64";
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
  EXPECT_LT(finding->gain.low, 4);
}

TEST(Imbalance, products_in_a_wider_type_on_one_rank_are_as_fast_as_on_others) {
  const Analysis analysis = late_by(8'100'000, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < 9; ++i) {
      scene.launch(rank == 0 ? kTensorGemm : "ampere_sgemm_128x64_nn", rank == 0 ? 100'000 : 1'000'000);
    }
  });
  const Finding* finding = find(analysis, "load_imbalance");
  expect_gain(finding, 9.05 / 0.95);
  EXPECT_THAT(finding->title, testing::HasSubstr("multiplies in a wider type"));
  EXPECT_THAT(finding->recommendations.front().text, testing::HasSubstr("same settings on all GPUs"));
}

TEST(Imbalance, further_products_in_a_wider_type_are_more_work) {
  const Analysis analysis = late_by(6'000'000, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 300'000);
    for (int i = 0; i < (rank == 0 ? 0 : 3); ++i) scene.launch("ampere_sgemm_128x64_nn", 2'000'000);
  });
  ASSERT_NE(find(analysis, "load_imbalance"), nullptr);
  EXPECT_THAT(find(analysis, "load_imbalance")->title, testing::HasSubstr("has more work"));
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

/// The host of the first rank, which waits on its GPU, loads meanwhile.
TEST(Imbalance, hosts_that_load_as_long_are_no_imbalance) {
  const Analysis analysis = analyze(on_two_ranks(6, [](TimelineScene& scene, int rank) {
    scene.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10'000'000);
    for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000);
    scene.launch(kAllReduce, 50'000 + (rank == 0 ? 8'000'000 : 0));
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "data_loading");
  EXPECT_GT(analysis.findings.front().severity, 0.9);
  for (const char* other : {"load_imbalance", "multi_gpu_comm"}) {
    const Finding* finding = find(analysis, other);
    EXPECT_TRUE(finding == nullptr || finding->severity < 0.1) << other;
  }
}

/// Both launch the same, the first rank what is slow to launch before its ten products, the second behind them, so that
/// it is ahead by 5 ms all the time. Sums overlap the products; only those after the last one are waited for.
Timeline of_overlapped_sums(bool slow_first) {
  TimelineScene scene;
  std::uint32_t id = 0;
  const auto launch = [&](const std::string& kernel, std::int64_t stream, std::int64_t at, std::int64_t start,
                          std::int64_t end) {
    scene.add({EventKind::runtime_api, at, 2'000, "cudaLaunchKernel", TimelineScene::kHost, ++id});
    scene.add({EventKind::kernel, start, end - start, kernel, scene.stream(stream), id});
  };
  constexpr std::int64_t kStep = 15'100'000, kMs = 1'000'000;
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::int64_t begin = kMs + step * kStep;
    const std::int64_t late = slow_first ? 5 * kMs : 0;
    scene.add({EventKind::annotation, begin, kStep - 1'000, "ProfilerStep#" + std::to_string(step)});
    for (std::int64_t k = 0; k < 10; ++k) {
      const std::int64_t at = begin + late + k * 10'000;
      const std::int64_t computed = begin + late + 4'000 + (k + 1) * kMs;
      launch(kTensorGemm, 7, at, computed - kMs, computed);
      const std::int64_t end = begin + 6'054'000 + k * kMs;
      launch(kAllReduce, 20, at + 5'000, slow_first ? end - 50'000 : k == 0 ? computed : end - kMs, end);
    }
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::int64_t at = begin + (slow_first ? 0 : 200'000) + i * 50'000;
      const std::int64_t start = slow_first ? at + 4'000 : begin + 10'100'000 + i * 3'000;
      launch("void at::native::vectorized_elementwise_kernel<4>", 7, at, start, start + 2'000);
    }
  }
  return scene.build();
}

TEST(Imbalance, who_was_late_at_the_first_of_overlapped_collectives_is_late_at_the_last) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    session.ranks.push_back(of_overlapped_sums(rank == 0));
    session.ranks.back().rank = rank;
    session.ranks.back().world_size = 2;
  }
  const Analysis analysis = analyze(session);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "launch_overhead");
  const Finding* communication = find(analysis, "multi_gpu_comm");
  EXPECT_TRUE(communication == nullptr || communication->severity < 0.1);
}

TEST(Imbalance, a_rank_that_does_all_there_is_to_do_can_only_share_it) {
  const Analysis analysis = late_by(8'950'000, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < (rank == 0 ? 0 : 90); ++i) scene.launch(kTensorGemm, 100'000);
  });
  expect_gain(find(analysis, "load_imbalance"), 9.05 / 4.55);
}

TEST(Imbalance, own_work_is_part_of_the_step) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int rank) {
    scene.dispatch_ns = rank == 1 ? 40'000 : 10'000;
    for (int i = 0; i < 100; ++i) {
      scene.launch(kTensorGemm, 8'000);
      if (rank == 1 && i % 2 == 0) scene.synchronize();
    }
    scene.launch(kAllReduce, 50'000 + (rank == 0 ? 3'000'000 : 0));
    scene.synchronize();
  });
  const Evidence evidence = gather_evidence(session);
  const Imbalance& imbalance = evidence.attribution.imbalance;
  EXPECT_GT(imbalance.dispatch_ns, 0);
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  EXPECT_LE(imbalance.lead_ns + imbalance.dispatch_ns, late.part_ns(Part::idle_launch));
  EXPECT_LE(imbalance.own_ns[imbalance.latest], late.undisturbed_step_ns());
  double lost = 0;
  for (const Finding& finding : analyze(session).findings) lost += static_cast<double>(finding.lost_ns);
  EXPECT_LE(lost, late.undisturbed_step_ns() * 1.001);
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

/// Two ranks, each with 10 ms to compute in one step and 2 ms in the next; `in_turns`: never both the same.
Analysis of_sizes_drawn(bool in_turns) {
  std::array<int, 2> taken{};
  return analyze(on_two_ranks(8,
                              [&](TimelineScene& scene, int rank) {
                                const bool large = taken[static_cast<std::size_t>(rank)]++ % 2 == (in_turns ? rank : 0);
                                for (int i = 0; i < (large ? 100 : 20); ++i) scene.launch(kTensorGemm, 100'000);
                                scene.launch(kAllReduce, 50'000 + (large || !in_turns ? 0 : 8'000'000));
                                scene.synchronize();
                              }),
                 {.tables = false});
}

TEST(Imbalance, is_none_where_all_ranks_have_large_steps_together) {
  const Analysis analysis = of_sizes_drawn(false);
  const Finding* finding = find(analysis, "load_imbalance");
  EXPECT_TRUE(finding == nullptr || finding->severity < 0.05);
}

TEST(Imbalance, two_ranks_of_five_that_have_less_to_do_wait_for_the_three) {
  const ProfileSession session = on_ranks(5, 6, [](TimelineScene& scene, int rank) {
    const bool slow = rank < 3;
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, slow ? 1'000'000 : 200'000);
    scene.launch(kAllReduce, 50'000 + (slow ? 0 : 8'000'000));
    scene.synchronize();
  });
  const Analysis analysis = analyze(session, {.tables = false});
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "load_imbalance");
  expect_gain(&analysis.findings.front(), 10.05 / 6.85);
  const Finding* communication = find(analysis, "multi_gpu_comm");
  EXPECT_TRUE(communication == nullptr || communication->severity < 0.1);
}

}  // namespace
}  // namespace warpmark::analyze
