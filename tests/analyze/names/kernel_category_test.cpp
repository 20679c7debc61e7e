#include "analyze/names/kernel_category.h"

#include <gtest/gtest.h>

#include <span>

namespace warpmark::analyze {
namespace {

struct KernelNameCase {
  const char* name;
  Category category;
  MatrixMath math;
};

void expect_all(std::span<const KernelNameCase> cases) {
  for (const KernelNameCase& one : cases) {
    const Category category = kernel_category(one.name, "");
    EXPECT_EQ(category, one.category) << one.name << " is " << category_id(category);
    EXPECT_EQ(matrix_math(one.name, category), one.math) << one.name;
  }
}

TEST(KernelCategory, knows_names_of_cudnn_bitsandbytes_and_deepep) {
  const KernelNameCase cases[] = {
      {"_5x_cudnn_ampere_scudnn_128x32_relu_small_nn_v1", Category::convolution, MatrixMath::simt_fp32},
      {"volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", Category::convolution,
       MatrixMath::tensor_half},
      {"void mul_mat_q<(ggml_type)13, 64, false>(char const*, int const*, float*)", Category::gemm, MatrixMath::none},
      {"ssm_conv_long_token_f32<true, true, 128ul, 4ul, 32l>(float const*)", Category::elementwise, MatrixMath::none},
      {"void k_get_rows_float<float, float>(float const*, int const*)", Category::gather, MatrixMath::none},
      {"ck_tile::BatchedGemmKernel<UniversalGemmPipelineProblem<_Float16, _Float16, float>>", Category::gemm,
       MatrixMath::tensor_half},
      {"ampere_dgemm_64x64_nn", Category::gemm, MatrixMath::simt_fp64},
      {"void kDequantizeBlockwise<__half, 512, 64, 8, 2>(float*, unsigned char*)", Category::elementwise,
       MatrixMath::none},
      {"void deep_ep::internode::dispatch<false, 8>", Category::communication, MatrixMath::none},
      {"void intranode::combine<__nv_bfloat16, 8>", Category::communication, MatrixMath::none},
  };
  expect_all(cases);
}

TEST(KernelCategory, knows_names_of_many_libraries) {
  const KernelNameCase cases[] = {
      {"nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNT", Category::gemm, MatrixMath::tensor_half},
      {"nvjet_sm100_hsh_192x192_64x3_2x1_v_bz_coopB_NNN", Category::gemm, MatrixMath::tensor_half},
      {"ampere_sgemm_128x64_nn", Category::gemm, MatrixMath::simt_fp32},
      {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", Category::gemm, MatrixMath::tensor_half},
      {"cutlass_80_tensorop_s1688gemm_tf32_128x128", Category::gemm, MatrixMath::tensor_tf32},
      {"cutlass_80_simt_sgemm_256x128_8x4_nn_align1", Category::gemm, MatrixMath::simt_fp32},
      {"cutlass_80_tensorop_d884gemm_128x128", Category::gemm, MatrixMath::simt_fp64},
      {"void cutlass::device_kernel<cutlass::gemm::kernel::sm90_wgmma_bf16>", Category::gemm, MatrixMath::tensor_half},
      {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_ffma", Category::convolution,
       MatrixMath::simt_fp32},
      {"sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", Category::convolution,
       MatrixMath::tensor_half},
      {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>", Category::convolution,
       MatrixMath::simt_fp32},
      {"void at::native::(anonymous namespace)::conv_depthwise2d_backward_kernel<3, 2, float, int>",
       Category::convolution, MatrixMath::none},
      {"void at::native::roll_cuda_kernel<float>", Category::elementwise, MatrixMath::none},
      {"flash_fwd_kernel", Category::attention, MatrixMath::none},
      {"aiter::mla_decode_stage1_asm_fwd", Category::attention, MatrixMath::none},
      {"void vllm::act_and_mul_kernel<c10::BFloat16>", Category::elementwise, MatrixMath::none},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16>", Category::elementwise, MatrixMath::none},
      {"void vllm::reshape_and_cache_flash_kernel<x>", Category::elementwise, MatrixMath::none},
      {"void vllm::concat_and_cache_mla_kernel<x>", Category::elementwise, MatrixMath::none},
      {"per_token_group_quant_8bit_kernel", Category::elementwise, MatrixMath::none},
      {"void machete::MacheteKernel<x>", Category::gemm, MatrixMath::none},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", Category::attention, MatrixMath::none},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", Category::attention, MatrixMath::none},
      {"void at::native::batch_norm_collect_statistics_kernel<float>", Category::normalization, MatrixMath::none},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, false, false>", Category::softmax,
       MatrixMath::none},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", Category::elementwise,
       MatrixMath::none},
      {"triton_poi_fused_add_mul_0", Category::elementwise, MatrixMath::none},
      {"triton_red_fused_sum_1", Category::reduction, MatrixMath::none},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", Category::reduction, MatrixMath::none},
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float>", Category::gather, MatrixMath::none},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Category::communication,
       MatrixMath::none},
      {"void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>", Category::optimizer, MatrixMath::none},
      {"cupy_multiply__float32_float_float32", Category::elementwise, MatrixMath::none},
      {"cupy_maximum__float32_float_float32", Category::elementwise, MatrixMath::none},
      {"cupy_copy__uint16_float32", Category::elementwise, MatrixMath::none},
      {"cupy_hamming", Category::elementwise, MatrixMath::none},
      {"cupyx_scipy_special_erf__float32_float32", Category::elementwise, MatrixMath::none},
      {"cupy_sum", Category::reduction, MatrixMath::none},
      {"cupy_nanmean", Category::reduction, MatrixMath::none},
      {"cupy_cub_sum", Category::reduction, MatrixMath::none},
      {"cupy_take", Category::gather, MatrixMath::none},
      {"cupy_scatter_add", Category::gather, MatrixMath::none},
      {"cupyx_scipy_ndimage_convolve_2d_reflect_w5_5", Category::other, MatrixMath::none},
      {"_ZN6cudapy8__main__27__vectorized_black_scholes", Category::elementwise, MatrixMath::none},
      {"void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
       "thrust::cuda_cub::__transform::unary_transform_f<float*, float*, saxpy>, long>, long>",
       Category::elementwise, MatrixMath::none},
      {"void cub::CUB_300102_SM_900::detail::transform::transform_kernel<policy_hub, long, plus, float*>",
       Category::elementwise, MatrixMath::none},
      {"cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*, float)", Category::attention, MatrixMath::none},
      {"void cudnn::fusion::compute_dot_do_o_specialized<true, 64, float>(float const*)", Category::attention,
       MatrixMath::none},
      {"convert_rgb_to_luma(float const*, float*, int)", Category::elementwise, MatrixMath::none},
      {"check_convergence(float const*, int*, int)", Category::other, MatrixMath::none},
      {"hull::convexity(float2 const*, int)", Category::other, MatrixMath::none},
      {"convolve_rows(float const*, float*, int)", Category::convolution, MatrixMath::simt_fp32},
      {"my_kernel", Category::other, MatrixMath::none},
  };
  expect_all(cases);
}

TEST(KernelCategory, knows_names_of_rocm_and_of_inference_servers) {
  const KernelNameCase cases[] = {
      {"Cijk_Ailk_Bljk_SB_MT64x64x16_SE", Category::gemm, MatrixMath::none},
      {"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16", Category::gemm, MatrixMath::tensor_half},
      {"void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4>(int4 const*)", Category::gemm, MatrixMath::tensor_half},
      {"fused_moe_kernel", Category::gemm, MatrixMath::none},
      {"aiter::fmoe_bf16_blockscaleFp8_g1u1_silu", Category::gemm, MatrixMath::tensor_half},
      {"igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt256x128x32", Category::convolution, MatrixMath::tensor_half},
      {"miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f3x2_stride1", Category::convolution, MatrixMath::simt_fp32},
      {"void deep_ep::internode::dispatch<false, 8>", Category::communication, MatrixMath::none},
      {"void mscclpp::allreduce7<float>", Category::communication, MatrixMath::none},
      {"sage_fwd", Category::attention, MatrixMath::none},
      {"flash_fwd_mla_kernel", Category::attention, MatrixMath::none},
      {"triton_per_fused_native_layer_norm_2", Category::normalization, MatrixMath::none},
  };
  expect_all(cases);
}

TEST(KernelCategory, asks_the_operator_where_the_name_says_nothing) {
  EXPECT_EQ(kernel_category("kernel_7", "aten::addmm"), Category::gemm);
  EXPECT_EQ(kernel_category("kernel_7", "aten::convolution"), Category::convolution);
  EXPECT_EQ(kernel_category("kernel_7", ""), Category::other);
}

TEST(KernelCategory, sparse_products_are_none_of_tensor_cores) {
  const char* sparse = "void cusparse::csrmm_alg2_kernel<false, false, false, long, long, float, float>(Policy<long>)";
  EXPECT_EQ(kernel_category(sparse, "aten::addmm"), Category::gemm);
  EXPECT_EQ(matrix_math(sparse, Category::gemm), MatrixMath::none);
}

TEST(KernelCategory, has_an_id_for_each) {
  for (int i = 0; i < static_cast<int>(Category::count); ++i) {
    EXPECT_NE(std::string_view(category_id(static_cast<Category>(i))), "");
  }
}

}  // namespace
}  // namespace warpmark::analyze
