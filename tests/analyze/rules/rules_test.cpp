// Every rule on the timeline: once on a program with its cause, and never on one without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include "analyze/analyze.h"
#include "analyze/rules/rules.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::on_two_ranks;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<c10::BFloat16>>";

void healthy_work(TimelineScene& scene) {
  for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000);
}

void expect_top(const Analysis& analysis, const std::string& rule, double removable) {
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& top = analysis.findings.front();
  EXPECT_EQ(top.rule, rule) << top.title;
  EXPECT_GT(top.severity, 0.4);
  EXPECT_FALSE(top.evidence.empty());
  EXPECT_FALSE(top.events.empty());
  EXPECT_FALSE(top.recommendations.empty());
  EXPECT_LE(top.gain.low, removable * 1.03);
  EXPECT_GE(top.gain.high, removable * 0.92);
}

TEST(Rules, find_nothing_in_a_healthy_program) {
  const Analysis analysis = of(stepped(6, healthy_work));
  for (const Finding& finding : analysis.findings) EXPECT_LT(finding.severity, 0.1) << finding.title;
  ASSERT_NE(find(analysis, "compute_bound"), nullptr);
  EXPECT_EQ(analysis.verdict, "No significant bottleneck.");
}

TEST(Rules, a_note_that_gains_much_is_in_the_verdict) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) scene.launch("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", 1'000'000);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_LT(analysis.findings.front().severity, 0.4) << "tensor cores are in use";
  EXPECT_THAT(
      analysis.verdict,
      testing::StartsWith("No fault stands out. Worth trying: multiply in BF16 (precision, 50.0 % of the step): "));
}

TEST(Rules, data_loading_in_a_named_range) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          scene.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 4'000'000);
                          healthy_work(scene);
                        })),
             "data_loading", 2.05);  // 4.1 ms of host for 2 ms of GPU
}

TEST(Rules, data_loading_without_a_name_before_an_upload) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          scene.range("aten::stack", 4'000'000, EventKind::op);
                          scene.copy(CopyKind::host_to_device, HostMemory::pinned, 1 << 20, 50'000, false);
                          healthy_work(scene);
                        })),
             "data_loading", 2.0);
}

TEST(Rules, host_work_with_a_name_before_an_upload_is_no_loading) {
  for (const char* name : {"scheduler.py(180): schedule", "train.py(90): save_checkpoint"}) {
    const Analysis analysis = of(stepped(6, [&](TimelineScene& scene) {
      scene.range(name, 4'000'000, EventKind::python);
      scene.copy(CopyKind::host_to_device, HostMemory::pinned, 64, 2'000, false);
      healthy_work(scene);
    }));
    EXPECT_EQ(find(analysis, "data_loading"), nullptr) << analysis.verdict;
    EXPECT_THAT(analysis.verdict, testing::HasSubstr(std::string(name).substr(std::string(name).find(": ") + 2)));
  }
}

TEST(Rules, host_transfer_from_pageable_memory) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          scene.copy(CopyKind::host_to_device, HostMemory::pageable, 50 << 20, 3'000'000, true);
                          healthy_work(scene);
                        })),
             "host_transfer", 2.5);
}

TEST(Rules, cpu_gpu_sync_from_values_read_back) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) {
      scene.launch(kTensorGemm, 100'000);
      scene.within("aten::item", EventKind::op, [&] {
        scene.copy(CopyKind::device_to_host, HostMemory::pageable, 4, 1'000, false);
        scene.synchronize();
      });
      scene.within("aten::work", EventKind::op, [&] { scene.idle_host(60'000); });
    }
  }));
  expect_top(analysis, "cpu_gpu_sync", 1.6);
  EXPECT_THAT(find(analysis, "cpu_gpu_sync")->evidence.back().text, testing::HasSubstr("aten::item"));
}

TEST(Rules, sync_costs_nothing_where_the_gpu_is_busy_all_the_time) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    healthy_work(scene);
    scene.synchronize();
    scene.dispatch_ns = 2'000;
  }));
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  EXPECT_TRUE(finding == nullptr || finding->severity < 0.1);
}

TEST(Rules, launch_overhead_of_short_kernels) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          for (int i = 0; i < 100; ++i) {
                            scene.within("aten::mm", EventKind::op, [&] {
                              scene.idle_host(20'000);
                              scene.launch(kTensorGemm, 4'000);
                            });
                          }
                        })),
             "launch_overhead", 6.0);  // 25 us of host for 4 us of GPU
}

TEST(Rules, precision_of_matrix_work_on_fp32_units) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) scene.launch("ampere_sgemm_128x64_nn", 400'000);
  }));
  expect_top(analysis, "precision", 12.0);
}

TEST(Rules, precision_in_tf32_is_a_note) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) scene.launch("cutlass_80_tensorop_s1688gemm_tf32_128x128", 100'000);
  }));
  ASSERT_NE(find(analysis, "precision"), nullptr);
  EXPECT_LE(find(analysis, "precision")->severity, 0.4);
}

TEST(Rules, attention_by_the_shapes_of_operators) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          const auto op = [&](const char* name, const char* shapes, const char* kernel,
                                              std::int64_t ns) {
                            scene.within(
                                name, EventKind::op, [&] { scene.launch(kernel, ns); }, shapes);
                          };
                          for (int layer = 0; layer < 8; ++layer) {
                            op("aten::bmm", "[[96,1024,64],[96,64,1024]]", kTensorGemm, 50'000);
                            op("aten::div", "[[8,12,1024,1024],[]]", kAdd, 100'000);
                            op("aten::_softmax", "[[8,12,1024,1024],[],[]]", "softmax_warp_forward", 150'000);
                            op("aten::bmm", "[[96,1024,1024],[96,1024,64]]", kTensorGemm, 50'000);
                            op("aten::mm", "[[8192,768],[768,768]]", kTensorGemm, 100'000);
                          }
                        })),
             "attention", 3.2);
}

TEST(Rules, attention_by_the_order_of_kernels) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          for (int layer = 0; layer < 8; ++layer) {
                            scene.launch(kTensorGemm, 50'000);
                            scene.launch(kAdd, 100'000);
                            scene.launch("softmax_warp_forward", 150'000);
                            scene.launch(kTensorGemm, 50'000);
                          }
                        })),
             "attention", 7.5);
}

TEST(Rules, attention_is_not_the_softmax_of_a_loss) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    healthy_work(scene);
    scene.launch("cunn_SoftMaxForward<LogSoftMaxForwardEpilogue> log_softmax", 300'000);
    healthy_work(scene);
  }));
  EXPECT_EQ(find(analysis, "attention"), nullptr);
}

/// A graph attention network, whose scores are sums of two products with a vector. Durations of pyGAT on an H200.
TEST(Rules, attention_is_not_of_scores_that_no_product_writes) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int head = 0; head < 8; ++head) {
      scene.launch("sm80_xmma_gemm_f32f32", 5'000);
      for (const int ns : {19'000, 12'000, 57'000}) scene.launch(kAdd, ns);
      scene.launch("cunn_SoftMaxForwardReg", 41'000);
      scene.launch("sm80_xmma_gemm_f32f32", 18'000);
    }
  }));
  EXPECT_EQ(find(analysis, "attention"), nullptr);
}

TEST(Rules, memory_bandwidth_of_elementwise_chains) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          for (int i = 0; i < 4; ++i) {
                            scene.launch(kTensorGemm, 50'000);
                            for (int k = 0; k < 10; ++k) scene.launch(kAdd, 100'000);
                          }
                        })),
             "memory_bandwidth", 4.5);
}

TEST(Rules, memory_bandwidth_of_two_streams_is_the_time_that_they_take_together) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int k = 0; k < 50; ++k) {
      scene.launch(kAdd, 100'000, 1024, 7);
      scene.launch(kAdd, 100'000, 1024, 9);
    }
    scene.synchronize();
  }));
  const Finding* finding = find(analysis, "memory_bandwidth");
  ASSERT_NE(finding, nullptr) << analysis.verdict;
  EXPECT_LT(finding->lost_ns, analysis.undisturbed_step_ns);
}

TEST(Rules, optimizer_that_updates_parameters_one_by_one) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
                          scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] {
                            for (int i = 0; i < 300; ++i) scene.launch(kAdd, 3'000), scene.idle_host(5'000);
                          });
                        })),
             "optimizer", 2.5);
}

TEST(Rules, optimizer_that_is_fused_is_fine) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    healthy_work(scene);
    scene.within("Optimizer.step#AdamW.step", EventKind::annotation,
                 [&] { scene.launch("multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata>", 200'000); });
  }));
  EXPECT_EQ(find(analysis, "optimizer"), nullptr);
}

TEST(Rules, memory_allocation_within_the_step) {
  expect_top(of(stepped(6,
                        [](TimelineScene& scene) {
                          for (int i = 0; i < 10; ++i) {
                            scene.api("cudaMalloc", 200'000);
                            scene.launch(kTensorGemm, 100'000);
                            scene.api("cudaFree", 200'000);
                          }
                        })),
             "memory_allocation", 4.0);
}

TEST(Rules, gpu_underused_by_small_kernels_is_a_note) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000, 16);
  }));
  const Finding* finding = find(analysis, "gpu_underused");
  ASSERT_NE(finding, nullptr);
  EXPECT_LE(finding->severity, 0.4);
  const Analysis healthy = of(stepped(6, healthy_work));
  EXPECT_EQ(find(healthy, "gpu_underused"), nullptr);
}

/// Two ranks that all-reduce at the end of each step; `extra_ns`: more computing on the second.
ProfileSession two_ranks(std::int64_t extra_ns, std::int64_t transfer_ns) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    Timeline timeline = stepped(6, [&](TimelineScene& scene) {
      for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
      if (rank == 1 && extra_ns > 0) scene.launch(kTensorGemm, extra_ns);
      scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", transfer_ns + (rank == 0 ? extra_ns : 0));
    });
    timeline.rank = rank;
    timeline.world_size = 2;
    timeline.origin_ns = rank * 300'000;  // clocks differ; the ends of collectives tell by how much
    session.ranks.push_back(std::move(timeline));
  }
  return session;
}

TEST(Rules, load_imbalance_of_a_late_rank) {
  const Analysis analysis = analyze(two_ranks(1'000'000, 50'000));
  expect_top(analysis, "load_imbalance", 1.9);
  const Finding* communication = find(analysis, "multi_gpu_comm");
  EXPECT_TRUE(communication == nullptr || communication->severity < 0.2);
}

TEST(Rules, multi_gpu_comm_of_ranks_that_are_late_in_turns_is_waiting) {
  std::array<int, 2> taken{};
  const ProfileSession session = on_two_ranks(8, [&](TimelineScene& scene, int rank) {
    const bool late = ++taken[static_cast<std::size_t>(rank)] % 2 == rank;
    if (late) scene.idle_host(2'000'000);
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
    scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50'000 + (late ? 0 : 2'000'000));
    scene.synchronize();
  });
  const Analysis analysis = analyze(session, {.tables = false});
  const Finding* finding = find(analysis, "multi_gpu_comm");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, ::testing::StartsWith("Ranks wait for one another in collectives"));
  EXPECT_THAT(analysis.verdict, ::testing::HasSubstr("of the step for one another: each is late in turn."));
}

TEST(Rules, load_imbalance_of_a_rank_whose_host_is_late_is_attributed_once) {
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int rank) {
    const bool late = rank == 1;
    if (late) scene.idle_host(5'000'000);  // writes a log, say
    for (int i = 0; i < 40; ++i) scene.launch(kTensorGemm, 100'000);
    scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50'000 + (late ? 0 : 5'000'000));
    scene.synchronize();
  });
  const Analysis analysis = analyze(session);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "load_imbalance");
  const Finding* launches = find(analysis, "launch_overhead");
  EXPECT_TRUE(launches == nullptr || launches->severity < 0.1);
}

TEST(Rules, of_critical_findings_the_one_whose_fix_gains_most_comes_first) {
  int step = 0;
  const Analysis analysis = of(stepped(6, [&step](TimelineScene& scene) {
    scene.copy(CopyKind::host_to_device, HostMemory::pageable, 50 << 20, 8'000'000, true);
    ++step;
    for (int i = 0; i < 360 + step % 2; ++i) {  // no two steps alike: no CUDA graph
      scene.launch("void at::native::vectorized_elementwise_kernel<4, tanh>", 2'000);
      scene.idle_host(20'000);
    }
  }));
  const Finding* copies = find(analysis, "host_transfer");
  const Finding* launches = find(analysis, "launch_overhead");
  ASSERT_TRUE(copies != nullptr && launches != nullptr);
  EXPECT_GT(copies->severity, kCritical);
  EXPECT_GT(launches->severity, copies->severity);
  EXPECT_GT(copies->gain.low, launches->gain.low);
  EXPECT_EQ(copies, &analysis.findings.front());
}

TEST(Rules, launch_overhead_of_the_rank_that_others_wait_for_is_no_communication) {
  constexpr int kKernels = 200;
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int rank) {
    const bool late = rank == 1;
    scene.dispatch_ns = late ? 30'000 : 26'000;  // as hosts differ
    for (int i = 0; i < kKernels; ++i) scene.launch(kTensorGemm, 4'000);
    scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50'000 + (late ? 0 : kKernels * 4'000));
    scene.synchronize();
  });
  const Analysis analysis = analyze(session);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "launch_overhead");
  const Finding* communication = find(analysis, "multi_gpu_comm");
  EXPECT_TRUE(communication == nullptr || communication->severity < 0.4);
}

TEST(Rules, multi_gpu_comm_that_nothing_overlaps) {
  const Analysis analysis = analyze(two_ranks(0, 700'000));
  expect_top(analysis, "multi_gpu_comm", 1.7);
  EXPECT_EQ(find(analysis, "load_imbalance"), nullptr);
}

TEST(Rules, multi_gpu_comm_tells_to_leave_the_search_for_unused_parameters) {
  for (const bool searches : {true, false}) {
    const Analysis analysis = analyze(on_two_ranks(6, [searches](TimelineScene& scene, int) {
      scene.range("Backward", 1'000);
      if (searches) scene.range("torch.distributed.ddp.reducer::search_unused_parameters", 200'000);
      scene.within("aten::mm", EventKind::op, [&scene] {
        for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
      });
      scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 700'000);
    }));
    const Finding* finding = find(analysis, "multi_gpu_comm");
    ASSERT_NE(finding, nullptr);
    const auto reported =
        testing::Contains(testing::Field(&Recommendation::snippet, testing::HasSubstr("static_graph=True")));
    EXPECT_EQ(testing::Value(finding->recommendations, reported), searches);
  }
}

TEST(Rules, catalog_is_complete_and_ids_are_unique) {
  const std::vector<std::string> ids = ids_of(rules());
  EXPECT_THAT(ids, testing::UnorderedElementsAre(
                       "data_loading", "host_transfer", "cpu_gpu_sync", "launch_overhead", "precision", "attention",
                       "memory_bandwidth", "optimizer", "memory_allocation", "multi_gpu_comm", "load_imbalance",
                       "compute_bound", "gpu_underused", "tensor_dimensions", "gpu_memory", "host_work",
                       "waiting_for_input", "blocking_call", "low_utilization", "data_parallel", "idle_multiprocessors",
                       "occupancy", "warp_divergence", "uncoalesced_access", "sm_efficiency", "memory_bound_kernel",
                       "tail_effect", "thermal_throttle", "power_throttle", "pcie_saturated", "memory_busy",
                       "low_clock", "device_copy", "gpu_health", "compute_bound_kernel", "register_spills"));
  for (const Rule* rule : rules()) EXPECT_STRNE(rule->question, "") << rule->id;
}

}  // namespace
}  // namespace warpmark::analyze
