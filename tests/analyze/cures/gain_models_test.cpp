// What a cure leaves: which part of a late rank's work, of a small kernel's time, of the host's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "analyze/analyze.h"
#include "analyze/evidence/evidence.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::kAllReduce;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::on_two_ranks;
using testing_support::stepped;
using testing_support::TimelineScene;

void expect_held(const Finding* finding, double factor) {
  ASSERT_NE(finding, nullptr);
  EXPECT_LE(finding->gain.low, factor);
  EXPECT_GE(finding->gain.high, factor);
}

Analysis of_small_products(const char* kernel) {
  return of(stepped(6, [kernel](TimelineScene& scene) {
    for (int i = 0; i < 40; ++i) scene.launch(kernel, 20'000, 16);
  }));
}

TEST(GainModels, blocks_that_are_channels_become_no_more_with_the_batch) {
  const auto blocks_of = [](const char* kernel) {
    return of(stepped(6, [kernel](TimelineScene& scene) {
      for (int i = 0; i < 20; ++i) scene.launch(kernel, 200'000, 64);
    }));
  };
  const Analysis rows = blocks_of("void at::native::vectorized_layer_norm_kernel<float>(int)");
  const Analysis channels = blocks_of("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)");
  EXPECT_NE(find(rows, "gpu_underused"), nullptr);
  EXPECT_EQ(find(channels, "gpu_underused"), nullptr);
}

TEST(GainModels, a_narrow_tile_takes_more_samples_for_nothing) {
  const Analysis narrow = of_small_products("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT");
  const Analysis wide = of_small_products("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_TNT");
  expect_held(find(narrow, "gpu_underused"), 48);
  expect_held(find(wide, "gpu_underused"), 16);  // 2.5 us + 16 * 17.5 us * 16 / 132 / 2 of the 20 us
  EXPECT_LT(find(wide, "gpu_underused")->gain.high, 30);
}

TEST(GainModels, autocast_adds_to_what_the_host_dispatches) {
  const auto of_products = [](const char* product, const char* op) {
    return of(stepped(6, [=](TimelineScene& scene) {
      scene.dispatch_ns = 20'000;
      for (int i = 0; i < 20; ++i) {
        scene.within(op, EventKind::op, [&] { scene.launch(product, 150'000); });
      }
    }));
  };
  const Analysis casts = of_products("ampere_sgemm_128x64_nn", "aten::mm");
  expect_held(find(casts, "precision"), 150.0 / (20 * 2.5));
  const auto with_work_after = [](const char* range) {  // 6 ms of the host's own, once a step
    return of(stepped(6, [=](TimelineScene& scene) {
      for (int i = 0; i < 20; ++i) scene.launch("ampere_sgemm_128x64_nn", 1'000'000);
      scene.range(range, 6'000'000);
    }));
  };
  for (const char* range : {"evaluation", "Optimizer.step#Own"}) {
    const Analysis analysis = with_work_after(range);
    expect_held(find(analysis, "precision"), 20.0 / 6.1);
  }
  const Analysis doubles = of_products("ampere_dgemm_64x64_nn", "aten::mm");  // model.float(): nothing is cast
  expect_held(find(doubles, "precision"), 150.0 / (150 * 0.14));
}

Analysis of_stages(int stages, int kinds) {
  int stage = 0;
  return of(stepped(stages, [&](TimelineScene& scene) {
    const int kernels = 30 + 10 * (stage++ % kinds);
    for (int i = 0; i < kernels; ++i) {
      scene.idle_host(20'000);
      scene.launch(kTensorGemm, 4'000);
    }
  }));
}

TEST(GainModels, a_graph_holds_stages_of_a_few_kinds_that_come_again) {
  const Analysis repeating = of_stages(24, 3);
  ASSERT_NE(find(repeating, "launch_overhead"), nullptr);
  EXPECT_EQ(find(repeating, "launch_overhead")->recommendations.front().id, "cuda_graph");
  const Analysis changing = of_stages(24, 24);
  ASSERT_NE(find(changing, "launch_overhead"), nullptr);
  EXPECT_EQ(find(changing, "launch_overhead")->recommendations.front().id, "compile");
}

TEST(GainModels, a_graph_holds_what_several_ranks_launch_and_send_but_no_training) {
  const auto of_ranks = [](bool trains, bool changes) {
    int step = 0;
    const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int) {
      ++step;
      for (int i = 0; i < 100 + (changes ? 10 * (step % 6) : 0); ++i) {
        scene.idle_host(20'000);
        scene.launch(kTensorGemm, 4'000);
      }
      scene.launch(kAllReduce, 20'000);
      if (trains) scene.within("Optimizer.step#AdamW", EventKind::annotation, [&] { scene.launch("adam", 4'000); });
    });
    const Analysis analysis = analyze(session, {.tables = false});
    const Finding* finding = find(analysis, "launch_overhead");
    return finding == nullptr ? std::string() : finding->recommendations.front().id;
  };
  EXPECT_EQ(of_ranks(false, false), "cuda_graph");
  EXPECT_EQ(of_ranks(true, false), "compile");
  EXPECT_EQ(of_ranks(false, true), "compile");
}

constexpr const char* kSub = "void at::native::elementwise_kernel<128, 2, gpu_kernel_impl_nocast<CUDAFunctor_add>>";
constexpr const char* kSquare = "void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar_kernel_impl>";
constexpr const char* kSum = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, sum_functor>>";

/// Distances of pairs: differences, their squares, and sums of three; `shapes` of what is subtracted.
Analysis of_distances(const std::string& shapes) {
  return of(stepped(6, [&shapes](TimelineScene& scene) {
    scene.launch(kTensorGemm, 500'000);
    scene.within(
        "aten::sub", EventKind::op, [&] { scene.launch(kSub, 1'200'000, 1 << 20); }, shapes);
    scene.launch(kSquare, 1'000'000, 1 << 18);
    scene.launch(kSum, 1'800'000, 1 << 18);
    scene.launch(kSum, 180'000, 1 << 12);
  }));
}

TEST(GainModels, a_tensor_expanded_and_reduced_at_once_need_not_be_written) {
  const double recorded = 500 + 1'200 + 1'000 + 1'800 + 180;
  const Analysis of_pairs = of_distances("[[32,2048,1,3],[32,1,2048,3],[]]");
  const Finding* pairs = find(of_pairs, "memory_bandwidth");
  expect_held(pairs, recorded / (500 + 0.03 * 2'200 + 180 + 180));
  const Analysis of_alike = of_distances("[[32,2048,2048,3],[32,2048,2048,3],[]]");
  const Finding* alike = find(of_alike, "memory_bandwidth");
  expect_held(alike, recorded / (500 + 1.25 * 1'800 + 0.03 * 4'180 + 2 * 0.1 * 1'800));
  EXPECT_LT(alike->gain.high, pairs->gain.low);
}

/// Weighted sums over windows of four samples (unfold), and their gradients.
TEST(GainModels, windows_laid_out_and_summed_up_need_not_be_written) {
  const auto windows = [](const char* lays_out, const char* adds_up) {
    return of(stepped(6, [&](TimelineScene& scene) {
      const auto by = [&](const char* op, const char* kernel, std::int64_t ns, std::uint32_t blocks) {
        scene.within(op, EventKind::op, [&] { scene.launch(kernel, ns, blocks); });
      };
      scene.launch(kTensorGemm, 500'000);
      for (int i = 0; i < 4; ++i)
        by(lays_out, "void at::native::im2col_kernel<float>(long, float const*)", 50'000, 256);
      by("aten::mul", kSub, 2'000, 1);  // the weights
      by("aten::mul", kSub, 600'000, 1 << 20);
      by("aten::sum", kSum, 200'000, 1 << 14);
      by("aten::div", kSquare, 20'000, 1 << 10);
      by("aten::mul", kSub, 600'000, 1 << 20);
      by(adds_up, "void at::native::col2im_batched_kernel<float>(long, float const*)", 1'300'000, 1 << 14);
      by("aten::div", kSquare, 20'000, 1 << 10);
    }));
  };
  const Analysis unfolded = windows("aten::im2col", "aten::col2im");
  const double recorded = 500 + 200 + 602 + 200 + 20 + 600 + 1'300 + 20;
  const Finding* found = find(unfolded, "memory_bandwidth");
  expect_held(found, recorded / (500 + 0.03 * 3'000 + 40));
  EXPECT_EQ(unfolded.findings.front().rule, "memory_bandwidth");
  const Analysis convolved = windows("aten::_slow_conv2d_forward", "aten::slow_conv_dilated2d");
  const Finding* within = find(convolved, "memory_bandwidth");
  EXPECT_TRUE(within == nullptr || within->gain.high < found->gain.low);
}

TEST(GainModels, windows_that_a_product_makes_have_to_be_summed_up) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.launch(kTensorGemm, 500'000);
    scene.within("aten::mul", EventKind::op, [&] { scene.launch(kSub, 600'000, 1 << 20); });
    scene.within("aten::col2im", EventKind::op,
                 [&] { scene.launch("void at::native::col2im_batched_kernel<float>(long)", 700'000, 1 << 14); });
    scene.launch(kTensorGemm, 500'000);
  }));
  const Finding* found = find(analysis, "memory_bandwidth");
  EXPECT_TRUE(found == nullptr || found->gain.low < 1.4);  // of two passes one, but not both
}

TEST(GainModels, reductions_to_and_fro_read_again_what_they_reduce) {
  const auto iterations = [](const char* last) {
    return of(stepped(6, [last](TimelineScene& scene) {
      for (int i = 0; i < 40; ++i) {
        scene.launch(kSquare, 100'000);
        scene.launch(last, 100'000);
      }
    }));
  };
  const Analysis reducing = iterations(kSum);
  const Analysis mapping = iterations(kSquare);
  expect_held(find(reducing, "memory_bandwidth"), 8'000 / (1.25 * 100 + 0.03 * 8'000 + 40 * 0.1 * 100));
  expect_held(find(mapping, "memory_bandwidth"), 8'000 / (1.25 * 100 + 0.03 * 8'000));
}

/// A hook of the optimizer that sums up 100 gradients one by one and divides each, before a short update.
TEST(GainModels, gradients_averaged_one_by_one_in_the_optimizers_step_are_communication) {
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int) {
    for (int i = 0; i < 100; ++i) scene.launch(kTensorGemm, 40'000);
    scene.synchronize();
    scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] {
      scene.dispatch_ns = 20'000;
      for (int i = 0; i < 100; ++i) {
        scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4'000, 16, 20);
        scene.launch("void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<div>>", 2'000);
      }
      scene.launch("void multi_tensor_apply_kernel<FusedAdamMathFunctor>", 100'000);
    });
    scene.dispatch_ns = 5'000;
    scene.synchronize();
  });
  const Analysis analysis = analyze(session, {.tables = false});
  expect_held(find(analysis, "multi_gpu_comm"), 2.0);
  const Finding* optimizer = find(analysis, "optimizer");
  EXPECT_TRUE(optimizer == nullptr || optimizer->severity < 0.1);
}

TEST(GainModels, a_rank_that_waits_for_its_worker_processes_sets_the_pace_of_all) {
  std::array<int, 2> taken{};
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int rank) {
    const bool waits = rank == 0;
    const std::int64_t wait =
        waits && taken[static_cast<std::size_t>(rank)]++ % 2 == 0 ? 20'000'000 : 50'000;  // 10 ms a step
    scene.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", wait);
    for (int i = 0; i < 100; ++i) scene.launch(kTensorGemm, 100'000);
    const std::int64_t later =
        !waits && taken[static_cast<std::size_t>(rank)]++ % 2 == 0 ? 19'950'000 : 0;  // than the other rank
    scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50'000 + later);
    scene.synchronize();
  });
  const Analysis analysis = analyze(session, {.tables = false});
  expect_held(find(analysis, "data_loading"), 0.86 * 20.1 / 10.1);
  const Finding* communication = find(analysis, "multi_gpu_comm");
  EXPECT_TRUE(communication == nullptr || communication->severity < 0.1) << "the other rank waits for a batch";
}

TEST(GainModels, worker_processes_late_in_turns_set_the_pace_of_all) {
  std::array<int, 2> taken{};
  const ProfileSession session = on_two_ranks(8, [&](TimelineScene& scene, int rank) {
    const bool waits = taken[static_cast<std::size_t>(rank)]++ % 2 == rank;
    scene.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", waits ? 20'000'000 : 50'000);
    for (int i = 0; i < 50; ++i) scene.launch(kTensorGemm, 100'000);
    scene.launch(kAllReduce, 50'000 + (waits ? 0 : 19'950'000));
    scene.synchronize();
  });
  const Analysis analysis = analyze(session, {.tables = false});
  const Finding* finding = find(analysis, "data_loading");
  expect_held(finding, 0.77 * 25.1 / 5.1);
  EXPECT_GT(finding->gain.low, 0.77 * 15.1 / 5.1) << "each rank alone waits for every second batch";
}

TEST(GainModels, products_with_one_vector_in_fp32_gain_what_half_the_bytes_gain) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 50; ++i) {
      scene.launch("void gemmSN_TN_kernel<float, 128, 16, 2, cublasGemvTensorStridedBatched<float const> >", 100'000);
      scene.launch("void at::native::vectorized_elementwise_kernel<4, at::native::silu<float> >", 5'000);
    }
    scene.launch("void at::native::vectorized_layer_norm_kernel<float>", 5'000);
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "precision");
  expect_held(find(analysis, "precision"), 105.0 / 45);
}

/// A sharded optimizer: the norm is summed up, parameters are updated one by one, and what each rank updated is sent.
TEST(GainModels, updates_between_two_collectives_of_a_sharded_optimizer_stay_updates) {
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int) {
    for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000);
    scene.within("Optimizer.step#Adam.step", EventKind::annotation, [&] {
      scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 5'000);
      for (int i = 0; i < 400; ++i) {
        scene.launch("void at::native::vectorized_elementwise_kernel<4, at::native::addcdiv>", 3'000);
      }
      scene.launch("ncclDevKernel_AllGather_RING_LL", 20'000);
    });
    scene.synchronize();
  });
  const Analysis analysis = analyze(session, {.tables = false});
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "optimizer");
}

/// A launch-bound program, an operator and a call a kernel, recorded by Kineto; its launch calls last `call_ns`, its
/// kernels `kernel_ns`, and each step begins with loading in its own process.
ProfileSession recorded_by_kineto(std::int64_t call_ns, std::int64_t kernel_ns = 2'000, std::int64_t loading_ns = 0) {
  TimelineScene scene;
  scene.timeline().format = "kineto";
  scene.timeline().metadata.clear();
  const std::uint32_t stream = scene.stream(7);
  std::int64_t now = 1'000'000;
  std::uint32_t id = 0;
  for (int step = 0; step < 6; ++step) {
    scene.add({EventKind::annotation, now, loading_ns + 200 * 20'000, "ProfilerStep#" + std::to_string(step)});
    if (loading_ns > 0) {
      scene.add(
          {EventKind::annotation, now, loading_ns, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"});
      scene.add({EventKind::op, now + 1'000, loading_ns - 2'000, "aten::stack"});
    }
    now += loading_ns;
    for (int i = 0; i < 200; ++i, now += 20'000) {
      for (int op = 0; op < 5; ++op) scene.add({EventKind::op, now + op * 100, 18'000 - op * 200, "aten::add"});
      scene.add({EventKind::runtime_api, now + 9'000, call_ns, "cudaLaunchKernel", TimelineScene::kHost, ++id});
      scene.add({EventKind::kernel, now + 18'000, kernel_ns, "add_kernel", stream, id});
    }
  }
  ProfileSession session;
  session.ranks.push_back(scene.build());
  return session;
}

TEST(GainModels, slow_launch_calls_tell_that_recording_cost_more) {
  const double usual = gather_evidence(recorded_by_kineto(4'000)).base_step_ns;
  const double slow = gather_evidence(recorded_by_kineto(7'000)).base_step_ns;
  EXPECT_NEAR(usual, 4e6 / 1.74, 0.1e6);
  EXPECT_NEAR(slow, 4e6 / 2.25, 0.1e6);
}

TEST(GainModels, loading_that_the_gpu_was_seen_to_wait_for_is_not_hidden) {
  // Without what recording seems to cost the host would be ahead of the GPU, and loading would cost nothing.
  const ProfileSession session = recorded_by_kineto(4'000, 18'000, 1'500'000);
  const Analysis analysis = analyze(session, {.tables = false});
  const Finding* finding = find(analysis, "data_loading");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(finding->gain.low * finding->gain.high, 1.2 * 1.2) << "a quarter of 1.5 of 5.5 ms stays";
}

TEST(GainModels, rounds_of_a_solver_are_its_work_whatever_its_check_reads) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int round = 0; round < 24; ++round) {
      for (int i = 0; i < 20; ++i) scene.launch("void at::native::vectorized_elementwise_kernel<4>", 20'000);
      scene.within("aten::item", EventKind::op,
                   [&scene] { scene.copy(CopyKind::device_to_host, HostMemory::pageable, 4, 1'000, true); });
      scene.idle_host(20'000);
    }
  }));
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  ASSERT_NE(finding, nullptr);
  EXPECT_LT(finding->gain.high, 1.5);
}

/// Steps of a recurrent network that differ in launches, so that no graph holds them; `between` after each cell.
Analysis of_cells(int cells, const std::function<void(TimelineScene&)>& between = {}) {
  int step = 0;
  return of(stepped(6, [&](TimelineScene& scene) {
    for (int i = 0; i < cells; ++i) {
      scene.within("aten::gru_cell", EventKind::op, [&scene] {
        scene.idle_host(60'000);
        scene.launch(kTensorGemm, 4'000);
        scene.launch("void at::native::_thnn_fused_gru_cell", 2'000);
      });
      if (between) between(scene);
    }
    for (int i = 0; i < 2 + 20 * (step % 3); ++i) scene.launch(kTensorGemm, 300'000 / (2 + 20 * (step % 3)));
    ++step;
  }));
}

TEST(GainModels, a_loop_of_recurrent_cells_becomes_one_call) {
  const Analysis analysis = of_cells(100);
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->recommendations.front().id, "cells_at_once");
  EXPECT_THAT(finding->recommendations.front().snippet, testing::HasSubstr("nn.GRU("));
  EXPECT_GT(finding->gain.low, 3);
}

TEST(GainModels, cells_that_need_what_came_out_before_stay_a_loop) {
  const auto picks = [](TimelineScene& scene) {
    scene.within("aten::argmax", EventKind::op, [&scene] { scene.launch("reduce_kernel<ArgMaxOps>", 3'000); });
  };
  for (const Analysis& analysis : {of_cells(10), of_cells(100, picks)}) {
    const Finding* finding = find(analysis, "launch_overhead");
    ASSERT_NE(finding, nullptr);
    for (const Recommendation& one : finding->recommendations) EXPECT_NE(one.id, "cells_at_once");
  }
}

}  // namespace
}  // namespace warpmark::analyze
