// Whether kernels of a recording bear a knob out. Names as PyTorch 2.8 on an H100 left them in recordings.
#include "optimize/apply/quality_gate.h"

#include <gtest/gtest.h>

#include <vector>

namespace warpmark::optimize {
namespace {

const std::vector<std::string> kBf16{
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>",
    "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
    "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
};
const std::vector<std::string> kF32{
    "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_stage3_warpsize2x2x1_g1_ffma",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>",
};

TEST(KernelsSeen, counts_the_kernels_that_show_a_knob_and_names_one) {
  EXPECT_EQ(kernels_seen({"precision.autocast", "bf16"}, kBf16),
            "in 2 of 4 kernels, as void at::native::vectorized_elementwise_kernel<8, at::native...");
  EXPECT_EQ(kernels_seen({"attention.sdpa", "on"}, kBf16),
            "in 1 of 4 kernels, as cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_...");
}

TEST(KernelsSeen, says_where_none_shows_it) {
  EXPECT_EQ(kernels_seen({"precision.autocast", "bf16"}, kF32), "in none of 2 kernels");
  EXPECT_EQ(kernels_seen({"channels_last", "on"}, kF32), "in none of 2 kernels");
  EXPECT_EQ(kernels_seen({"compile", "default"}, kBf16), "in none of 4 kernels");
}

TEST(KernelsSeen, parts_may_be_those_of_one_value) {
  EXPECT_TRUE(kernels_seen({"optimizer.implementation", "fused"}, kF32)->starts_with("in 1 of 2"));
  EXPECT_TRUE(kernels_seen({"attention.backend", "cudnn"}, kBf16)->starts_with("in 1 of 4"));
  EXPECT_EQ(kernels_seen({"attention.backend", "efficient"}, kBf16), "in none of 4 kernels");
}

TEST(KernelsSeen, is_silent_of_what_no_kernel_tells) {
  EXPECT_FALSE(kernels_seen({"loader.workers", "4"}, kBf16));
  EXPECT_FALSE(kernels_seen({"attention.backend", "math"}, kBf16));
  EXPECT_FALSE(kernels_seen({"no.such.knob", "1"}, kBf16));
  EXPECT_FALSE(kernels_seen({"compile", "default"}, {}));
}

}  // namespace
}  // namespace warpmark::optimize
