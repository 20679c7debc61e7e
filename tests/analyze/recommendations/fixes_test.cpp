// Which fix a finding puts first, told from the recording, and that its gain is that fix's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::iterated;
using testing_support::kAllReduce;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::on_two_ranks;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kGelu = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>";
constexpr const char* kCast =
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>";
constexpr const char* kGather = "void at::native::vectorized_gather_kernel<16, long>";
constexpr const char* kReduce = "void at::native::reduce_kernel<512, 1, ReduceOp<float, MeanOps>>";
constexpr const char* kFp32Product = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma_aligna4_alignc4_execute_kernel";

void short_kernels(TimelineScene& scene, int count) {
  for (int i = 0; i < count; ++i) {
    scene.idle_host(20'000);
    scene.launch(kTensorGemm, 4'000);
  }
}

TEST(Fixes, a_graph_comes_first_where_every_step_launches_the_same) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) { short_kernels(scene, 100); }));
  const Finding* finding = find(analysis, "launch_overhead");
  expect_gain(finding, 6.0);
  EXPECT_EQ(finding->recommendations.front().id, "cuda_graph");
  EXPECT_EQ(finding->recommendations.front().gain->low, finding->gain.low);
}

TEST(Fixes, copies_within_the_gpu_break_no_graph) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) {
      short_kernels(scene, 20);
      scene.copy(CopyKind::device_to_device, HostMemory::unknown, 1 << 20, 30'000, true);
    }
  }));
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->recommendations.front().id, "cuda_graph");
}

TEST(Fixes, tf32_comes_first_where_16_bits_are_no_line_around_the_model) {
  const auto program = [](bool torch) {
    return of(iterated(6, [torch](TimelineScene& scene) {
      if (torch) (void)scene.timeline().names.intern("aten::mm");
      for (int i = 0; i < 4; ++i) scene.launch(kFp32Product, 1'000'000);
    }));
  };
  const Analysis native = program(false);
  const Finding* finding = find(native, "precision");
  expect_gain(finding, 4.5);  // 67 to 495 TFLOP/s, less what products reach of it
  EXPECT_EQ(finding->recommendations.front().id, "tf32");
  ASSERT_TRUE(finding->recommendations[1].gain.has_value());
  EXPECT_GT(finding->recommendations[1].gain->low, finding->gain.low);  // 16 bits gain more
  const Analysis torch = program(true);
  EXPECT_NE(find(torch, "precision")->recommendations.front().id, "tf32");
}

TEST(Fixes, compiling_comes_first_where_steps_differ) {
  int step = 0;
  const Analysis analysis =
      of(stepped(6, [&step](TimelineScene& scene) { short_kernels(scene, 80 + 10 * (++step % 3)); }));
  const Finding* finding = find(analysis, "launch_overhead");
  expect_gain(finding, 1.3);
  EXPECT_EQ(finding->recommendations.front().id, "compile");
}

TEST(Fixes, compiling_comes_first_where_shapes_differ) {
  std::uint32_t step = 0;
  const Analysis analysis = of(stepped(6, [&step](TimelineScene& scene) {
    ++step;
    for (int i = 0; i < 100; ++i) {
      scene.idle_host(20'000);
      scene.launch(kTensorGemm, 4'000, 8 * step);
    }
  }));
  EXPECT_EQ(find(analysis, "launch_overhead")->recommendations.front().id, "compile");
}

TEST(Fixes, compiling_comes_first_where_the_host_waits_within_the_step) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) {
      short_kernels(scene, 20);
      scene.copy(CopyKind::device_to_host, HostMemory::pageable, 4, 1'000, false);
      scene.synchronize();
    }
  }));
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->recommendations.front().id, "compile");
}

TEST(Fixes, an_unfused_optimizer_comes_before_the_launches_of_the_rest) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    short_kernels(scene, 30);
    scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] { short_kernels(scene, 60); });
  }));
  const Finding* updates = find(analysis, "optimizer");
  const Finding* launches = find(analysis, "launch_overhead");
  ASSERT_NE(updates, nullptr);
  ASSERT_NE(launches, nullptr);
  EXPECT_EQ(&analysis.findings.front(), updates);
  std::int64_t step = 0;
  for (const BreakdownPart& part : analysis.breakdown) step += part.total_ns;
  EXPECT_LE(updates->lost_ns + launches->lost_ns, step);
}

TEST(Fixes, the_wait_in_a_blocking_copy_goes_with_the_copy) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) {
      scene.launch(kTensorGemm, 100'000);
      scene.within("aten::copy_", EventKind::op, [&] {
        scene.copy(CopyKind::device_to_host, HostMemory::pinned, 10 << 20, 200'000, false);
        scene.synchronize();
      });
      scene.idle_host(80'000);
    }
  }));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host_transfer");
  expect_gain(&analysis.findings.front(), 380.0 / 200);  // from pinned memory already: the link stays as long busy
  EXPECT_EQ(find(analysis, "cpu_gpu_sync"), nullptr);
}

TEST(Fixes, a_launch_that_waited_for_a_place_in_the_queue_is_no_host_time) {
  TimelineScene scene;
  const std::uint32_t stream = scene.stream(7);
  std::uint32_t id = 0;
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::int64_t begin = 1'000'000 + step * 4'600'000;
    scene.add({EventKind::annotation, begin, 4'600'000, "ProfilerStep#" + std::to_string(step)});
    for (std::int64_t i = 0; i < 50; ++i) {  // the last launch waits while the GPU works four fifths of the time
      scene.add({EventKind::runtime_api, begin + i * 3'000, i < 49 ? 2'000 : 4'440'000, "cudaLaunchKernel",
                 TimelineScene::kHost, ++id});
      scene.add({EventKind::kernel, begin + 10'000 + i * 92'000, 75'000, kFp32Product, stream, id});
    }
  }
  const Analysis analysis = of(scene.build());
  const Finding* finding = find(analysis, "precision");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(finding->gain.high, 4);
}

TEST(Fixes, double_precision_is_left_at_the_rate_of_tensor_cores) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) {
      scene.launch("cutlass_80_tensorop_d884gemm_64x32_16x4_nn_align1", 900'000);
      scene.launch("void at::native::vectorized_elementwise_kernel<2, BinaryFunctor<double, double, double>>", 100'000);
    }
  }));
  expect_gain(find(analysis, "precision"), 1000.0 / (900 * 67 / 495.0 + 50));
}

TEST(Fixes, rolled_tensors_are_fused_with_what_is_computed_on_them) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) {
      scene.launch("void at::native::roll_cuda_kernel<float>", 100'000);
      scene.launch(kGelu, 100'000);
    }
  }));
  EXPECT_GT(find(analysis, "memory_bandwidth")->gain.high, 5);
}

TEST(Fixes, a_gather_that_is_reduced_still_reads_its_rows) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) {
      scene.launch(kGather, 1'200'000);
      scene.launch(kReduce, 400'000);
    }
  }));
  expect_gain(find(analysis, "memory_bandwidth"), 1600.0 / (1.8 * 400));
}

/// Two ranks that compute 1 ms a step and then do `more(scene)`.
template <typename More>
Analysis of_two_ranks(More more) {
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000, 33);
    more(scene);
  });
  return analyze(session);
}

TEST(Fixes, communication_in_line_with_computation_wants_to_be_overlapped) {
  const Analysis analysis = of_two_ranks([](TimelineScene& scene) {
    scene.range("Backward", 1'000);
    scene.launch(kAllReduce, 2'000'000);
  });
  const Finding* finding = find(analysis, "multi_gpu_comm");
  expect_gain(finding, 3);
  EXPECT_FALSE(finding->gain.per_sample);
  EXPECT_THAT(finding->recommendations.front().text, testing::HasSubstr("Overlap"));
}

TEST(Fixes, gradients_that_travel_over_the_host_are_communication) {
  const Analysis analysis = of_two_ranks([](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) {
      scene.copy(CopyKind::device_to_host, HostMemory::pageable, 10 << 20, 500'000, true);
      scene.range("gloo:all_reduce", 300'000);
      scene.copy(CopyKind::host_to_device, HostMemory::pageable, 10 << 20, 500'000, true);
    }
  });
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "multi_gpu_comm");
  EXPECT_THAT(analysis.findings.front().recommendations.front().snippet, testing::HasSubstr("nccl"));
  EXPECT_EQ(find(analysis, "host_transfer"), nullptr);
  EXPECT_GT(analysis.findings.front().gain.high, 5);
}

TEST(Fixes, waiting_for_input_on_one_rank_is_gone_when_fixed) {
  const ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int rank) {
    if (rank == 0) scene.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 4'000'000);
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
    scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", rank == 0 ? 50'000 : 4'050'000);
    scene.synchronize();
  });
  const Analysis analysis = analyze(session);
  expect_gain(find(analysis, "load_imbalance"), 4.8);
}

}  // namespace
}  // namespace warpmark::analyze
