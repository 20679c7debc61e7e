// Rules that tell of what a program could do otherwise: dimensions, folded normalization, one process for several GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using ::testing::HasSubstr;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kNarrowGemm = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align1";
constexpr const char* kFurtherWideGemm = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8";

Timeline multiplying(const char* kernel, const std::string& shapes) {
  return stepped(6, [&](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) {
      scene.within(
          "aten::mm", EventKind::op, [&] { scene.launch(kernel, 100'000); }, shapes);
      scene.within(
          "aten::mm", EventKind::op, [&] { scene.launch(kTensorGemm, 100'000); }, "[[512,1024],[1024,4096]]");
    }
  });
}

TEST(TensorDimensions, tell_which_one_makes_tensor_cores_read_narrowly) {
  const Analysis analysis = of(multiplying(kNarrowGemm, "[[512,1024],[1024,50257]]"));
  const Finding* finding = find(analysis, "tensor_dimensions");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, HasSubstr("50257 is no multiple of 8"));
  EXPECT_GT(finding->severity, 0.4) << "on Hopper four fifths of half of the step are lost";
  ASSERT_FALSE(finding->recommendations.empty());
  EXPECT_THAT(finding->recommendations.front().text, HasSubstr("50257 becomes 50264, or 50304"));
  EXPECT_THAT(finding->recommendations.front().snippet, HasSubstr("torch.nn.Linear"));
  EXPECT_FALSE(finding->events.empty());
  EXPECT_LE(finding->gain.low, 1.33);
  EXPECT_GE(finding->gain.high, 1.33) << "half of the products in half of the time";
}

TEST(TensorDimensions, are_told_from_kernels_alone_where_no_shapes_were_recorded) {
  const Analysis analysis = of(multiplying(kNarrowGemm, ""));
  const Finding* finding = find(analysis, "tensor_dimensions");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->recommendations.front().text, HasSubstr("multiples of 8"));
}

TEST(TensorDimensions, keep_inputs_of_16_bits_outside_of_the_tensor_cores) {
  const Analysis analysis = of(multiplying("ampere_fp16_sgemm_fp16_128x64_nn", ""));
  const Finding* finding = find(analysis, "tensor_dimensions");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, HasSubstr("outside of the tensor cores"));
  EXPECT_GT(finding->severity, kCritical);
  EXPECT_EQ(find(analysis, "precision"), nullptr) << "the inputs have 16 bits already";
}

TEST(TensorDimensions, are_no_matter_where_the_kernel_reads_widely_or_without_tensor_cores) {
  for (const char* kernel :
       {kFurtherWideGemm, "cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4",
        "cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1", "cutlass_80_simt_sgemm_128x64_nn_align1",
        "cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align1"}) {
    const Analysis analysis = of(multiplying(kernel, "[[512,1024],[1024,50257]]"));
    EXPECT_EQ(find(analysis, "tensor_dimensions"), nullptr) << kernel;
  }
}

Timeline on_gpus(int gpus, const char* range, const char* host_range = nullptr) {
  Timeline timeline = stepped(6, [&](TimelineScene& scene) {
    scene.within(range, EventKind::annotation, [&] {
      for (int gpu = 0; gpu < gpus; ++gpu) {
        for (int i = 0; i < 4; ++i) scene.launch(kTensorGemm, 100'000, 1024, 7 + gpu);
      }
    });
    scene.synchronize();
    host_range == nullptr ? scene.idle_host(1'000'000) : scene.range(host_range, 1'000'000);
  });
  int device = 0;
  for (auto& track : timeline.tracks) {
    if (track.kind == TrackKind::gpu_stream) track.device = device++;
  }
  return timeline;
}

TEST(DataParallel, is_told_where_one_process_drives_several_gpus) {
  const Analysis analysis = of(on_gpus(4, "DataParallel.forward"));
  const Finding* finding = find(analysis, "data_parallel");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, HasSubstr("One process drives 4 GPUs with nn.DataParallel"));
  EXPECT_THAT(finding->recommendations.front().snippet, HasSubstr("DistributedDataParallel"));
  EXPECT_EQ(finding, &analysis.findings.front()) << "nothing else explains the host's time";
  const Analysis named = of(on_gpus(4, "DataParallel.forward", "tokenize"));
  EXPECT_LT(find(named, "data_parallel")->severity, 0.4) << "a note beside what costs the time";
  EXPECT_GE(finding->gain.low, 0.9);
  const Analysis alone = of(on_gpus(1, "DataParallel.forward"));
  EXPECT_EQ(find(alone, "data_parallel"), nullptr) << "on one GPU it passes everything on";
  const Analysis other = of(on_gpus(4, "DistributedDataParallel.forward"));
  EXPECT_EQ(find(other, "data_parallel"), nullptr);
}

}  // namespace
}  // namespace warpmark::analyze
