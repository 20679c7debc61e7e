// Collectives of a profile against those of a benchmark.
#include "analyze/evidence/collective_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analyze/analyze.h"
#include "analyze/names/collective_kinds.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::stepped;
using testing_support::TimelineScene;

CollectiveResult point(std::int64_t bytes, double seconds, double bandwidth) {
  CollectiveResult one;
  one.collective = "all_reduce";
  one.data_type = "float";
  one.ranks = 2;
  one.bytes = bytes;
  one.seconds = seconds;
  one.bus_bandwidth = bandwidth;
  one.wrong = 0;
  return one;
}

const std::vector<CollectiveResult> kCurve{point(1 << 10, 20e-6, 1e9), point(1 << 20, 30e-6, 100e9),
                                           point(1 << 24, 80e-6, 200e9), point(1 << 28, 900e-6, 300e9)};

/// 4 M floats reduced in 100 us a step, as the recording of an operator describes it.
Timeline reducing(std::int64_t compute_ns = 100'000, std::int64_t reduce_ns = 100'000, std::int64_t elements = 1 << 22,
                  const char* type = "Float") {
  Timeline timeline = stepped(6, [=](TimelineScene& scene) {
    scene.launch(kTensorGemm, compute_ns);
    scene.within("record_param_comms", EventKind::op,
                 [&] { scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", reduce_ns, 24); });
  });
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (timeline.name_of(i) != "record_param_comms") continue;
    Collective one;
    one.event = i;
    one.name = timeline.names.intern("allreduce");
    one.data_type = timeline.names.intern(type);
    one.in_elements = one.out_elements = elements;
    one.group_size = 2;
    timeline.collectives.push_back(one);
  }
  return timeline;
}

TEST(CollectiveTraffic, names_collectives_as_nccl_tests_do) {
  EXPECT_EQ(standard_collective("allreduce"), "all_reduce");
  EXPECT_EQ(standard_collective("_allgather_base"), "all_gather");
  EXPECT_EQ(standard_collective("_reduce_scatter_base"), "reduce_scatter");
  EXPECT_EQ(standard_collective("ncclReduceScatter"), "reduce_scatter");
  EXPECT_EQ(standard_collective("all_to_allv"), "alltoall");
  EXPECT_EQ(standard_collective("barrier"), "");
}

TEST(CollectiveTraffic, has_the_bus_factors_of_nccl_tests) {
  EXPECT_DOUBLE_EQ(*bus_factor("all_reduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(*bus_factor("all_gather", 8), 0.875);
  EXPECT_DOUBLE_EQ(*bus_factor("broadcast", 8), 1.0);
  EXPECT_FALSE(bus_factor("all_reduce", 1));
  EXPECT_FALSE(bus_factor("barrier", 8));
}

TEST(CollectiveTraffic, interpolates_a_benchmark_and_never_beyond_its_sizes) {
  EXPECT_DOUBLE_EQ(*benchmarked_bandwidth(kCurve, "all_reduce", 2, 1 << 20), 100e9);
  EXPECT_NEAR(*benchmarked_bandwidth(kCurve, "all_reduce", 2, 1 << 22), 100e9 * std::sqrt(2.0), 1);
  EXPECT_FALSE(benchmarked_bandwidth(kCurve, "all_reduce", 2, 512));
  EXPECT_FALSE(benchmarked_bandwidth(kCurve, "all_reduce", 2, 1e12));
  EXPECT_FALSE(benchmarked_bandwidth(kCurve, "all_reduce", 4, 1 << 20));
  EXPECT_FALSE(benchmarked_bandwidth(kCurve, "all_gather", 2, 1 << 20));
}

TEST(CollectiveTraffic, sums_a_benchmark_up) {
  auto results = kCurve;
  results.push_back(point(0, 1e-9, 0));  // nothing to move: no latency of a message
  const auto curves = collective_curves(results);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_DOUBLE_EQ(curves[0].latency_s, 20e-6);
  EXPECT_DOUBLE_EQ(curves[0].peak_bus_bandwidth, 300e9);
  EXPECT_EQ(curves[0].peak_bytes, 1 << 28);
  EXPECT_EQ(curves[0].half_peak_bytes, 1 << 24);
}

TEST(CollectiveTraffic, finds_the_message_of_a_kernel_in_the_operator_that_launched_it) {
  ProfileSession session;
  session.ranks.push_back(reducing());
  const Evidence evidence = gather_evidence(session);
  ASSERT_TRUE(evidence.has_timeline());
  const auto traffic = collective_traffic(evidence, evidence.rank());
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_EQ(traffic[0].collective, "all_reduce");
  EXPECT_DOUBLE_EQ(traffic[0].bytes, 4.0 * (1 << 22));
  EXPECT_DOUBLE_EQ(traffic[0].fastest_s, 100e-6);
  EXPECT_NEAR(traffic[0].bus_bandwidth, 4.0 * (1 << 22) / 100e-6, 1);
}

TEST(CollectiveTraffic, of_a_few_values_is_little_whatever_their_type) {
  const auto share = [](std::int64_t elements, const char* type) -> std::optional<double> {
    ProfileSession session;
    session.ranks.push_back(reducing(100'000, 100'000, elements, type));
    for (const Finding& finding : analyze(session).findings) {
      for (const Fact& fact : finding.evidence) {
        if (fact.id == "of_values") return fact.value;
      }
    }
    return std::nullopt;
  };
  EXPECT_EQ(share(1, "Float"), 1.0);
  EXPECT_EQ(share(1, "a type of tomorrow"), 1.0);
  EXPECT_EQ(share(4096, ""), 1.0);
  EXPECT_EQ(share(4097, ""), std::nullopt);
  EXPECT_EQ(share(16384, "Float"), 1.0);
  EXPECT_EQ(share(16385, "Float"), std::nullopt);
}

TEST(CollectiveTraffic, is_as_fast_on_the_rank_that_waits_as_on_the_one_waited_for) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    session.ranks.push_back(reducing(rank == 0 ? 100'000 : 700'000, rank == 0 ? 700'000 : 100'000));
    session.ranks.back().rank = rank;
  }
  const Evidence evidence = gather_evidence(session);
  ASSERT_EQ(evidence.ranks.size(), 2U);
  for (const RankEvidence& rank : evidence.ranks) {
    const auto traffic = collective_traffic(evidence, rank);
    ASSERT_EQ(traffic.size(), 1U);
    EXPECT_DOUBLE_EQ(traffic[0].fastest_s, 100e-6);
    EXPECT_DOUBLE_EQ(traffic[0].median_s, rank.index == 0 ? 700e-6 : 100e-6);
  }
}

TEST(CollectiveTraffic, stands_beside_the_benchmark_in_the_evidence) {
  ProfileSession session;
  session.ranks.push_back(reducing());
  session.collectives = kCurve;
  const Analysis analysis = analyze(session);
  const auto finding = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                    [](const Finding& one) { return one.rule == "multi_gpu_comm"; });
  ASSERT_NE(finding, analysis.findings.end());
  const auto fact = std::find_if(finding->evidence.begin(), finding->evidence.end(),
                                 [](const Fact& one) { return one.id == "benchmark_bus_bandwidth"; });
  ASSERT_NE(fact, finding->evidence.end());
  EXPECT_NEAR(*fact->value, 200e9, 1);
}

TEST(CollectiveTraffic, of_a_benchmark_alone_is_the_verdict) {
  ProfileSession session;
  session.collectives = kCurve;
  EXPECT_EQ(analyze(session).verdict,
            "Communication alone: up to 300.0 GB/s of bus bandwidth (all_reduce, 2 ranks); no program was recorded.");
  session.collectives[1].wrong = 3;
  EXPECT_EQ(analyze(session).verdict,
            "all_reduce gave 3 wrong elements: this machine computes wrong sums or moves wrong data.");
}

TEST(CollectiveTraffic, of_gpus_with_nvlink_that_is_no_faster_than_pcie_says_so) {
  const auto verdict = [](const char* gpu, double rate, double first_rate) {
    ProfileSession session;
    for (std::int64_t bytes = 1 << 20; bytes <= 1 << 28; bytes *= 4) {
      CollectiveResult one{.collective = "all_reduce", .bytes = bytes, .ranks = 8, .gpu = gpu};
      one.bus_bandwidth = bytes == 1 << 28 ? rate : first_rate;
      session.collectives.push_back(one);
    }
    return analyze(session).verdict;
  };
  EXPECT_THAT(verdict("NVIDIA H100 80GB HBM3", 21e9, 20e9), testing::HasSubstr("has 450 GB/s and is not used"));
  for (const std::string& healthy :
       {verdict("NVIDIA H100 80GB HBM3", 480e9, 300e9), verdict("NVIDIA H100 PCIe", 21e9, 20e9),
        verdict("", 21e9, 20e9), verdict("NVIDIA A40", 21e9, 20e9), verdict("NVIDIA H100 80GB HBM3", 21e9, 2e9)}) {
    EXPECT_EQ(healthy.find("NVLink"), std::string::npos) << healthy;
  }
}

}  // namespace
}  // namespace warpmark::analyze
