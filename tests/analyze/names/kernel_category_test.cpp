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
      {"volta_fp16_sgemm_fp16_128x64_nn", Category::gemm, MatrixMath::simt_half},
      {"volta_hgemm_128x64_nn", Category::gemm, MatrixMath::simt_half},
      {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", Category::gemm, MatrixMath::tensor_half},
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
      {"Cijk_Ailk_Bljk_SB_MT64x64x16_SE", Category::gemm, MatrixMath::simt_fp32},
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

// As profiles of vLLM, SGLang and TensorRT-LLM show the kernels of FlashInfer, AITER, Composable Kernel, Tensile and
// Transformer Engine.

TEST(KernelCategory, knows_products_of_inference_libraries) {
  const KernelNameCase cases[] = {
      {"Custom_Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x16x64_MI16x16x1_SN_LDSB0", Category::gemm,
       MatrixMath::tensor_half},
      {"Custom_Cijk_Ailk_Bljk_F8H_HHS_BH_MT128x16x128_MI16x16x1_Freesize_10_gfx942", Category::gemm,
       MatrixMath::tensor_half},
      {"Cijk_Ailk_Bljk_SB_MT128x128x4_SE_K1", Category::gemm, MatrixMath::simt_fp32},
      {"Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT256x128x16_MI16x16x1", Category::gemm, MatrixMath::simt_fp32},
      {"Custom_Cijk_Alik_Bljk_S_MX_B_BIAS_HA_S_SAV_NTD_SK3_UserArgs_MT256x256x32_MI16x16x1_shortname0_gfx950",
       Category::gemm, MatrixMath::tensor_tf32},
      {"void wvSplitK_hf_sml_<__hip_bfloat16, 64, 4, 16, 8, 1, 4>(int)", Category::gemm, MatrixMath::tensor_half},
      {"void wvSplitKQ_hf_sml_<__hip_bfloat16, c10::Float8_e4m3fnuz, 64, 2, 16, 16, 2, 1>(int, int)", Category::gemm,
       MatrixMath::tensor_half},
      {"_Z11wvSplitKrc_I6__halfLi64ELi16ELi4ELi8ELi1ELi16ELi1ELi1ELi1EEviiiiiiPKT_S3_S3_PfPiPS1_i", Category::gemm,
       MatrixMath::tensor_half},
      {"void LLGemm1_kernel<c10::Half, 4>(float4*, float4*, c10::Half*, int)", Category::gemm, MatrixMath::tensor_half},
      {"void ck_tile::kentry<2, "
       "ck_tile::MoeFlatmmKernel<ck_tile::GemmSpatiallyLocalTilePartitioner<ck_tile::TileGemmShape> > >",
       Category::gemm, MatrixMath::none},
      {"ck_tile::MXMoeFlatmmKernel<TilePartitioner, CodegenFlatmmPipeline>", Category::gemm, MatrixMath::none},
      {"mfma_moe1_silu_mul_afp8_wfp4_fp8_t64x256x256_pm1_fp8q_sort_async_gui_v32", Category::gemm,
       MatrixMath::tensor_half},
      {"mfma_moe2_afp8_wfp4_bf16_cshuffle_t32x256x256_vscale_fix3_fp4opt_v1_pm1_xcd4", Category::gemm,
       MatrixMath::tensor_half},
      {"_ZN5aiter26mhc_pre_gemm_sqrsum_kernelIDF16bLi256ELi64ELi16ELi128EEEvPfS1_PT_S1_iiiiiii", Category::gemm,
       MatrixMath::none},
      {"_gemm_a8w8_blockscale_kernel_GROUP_K_128_GROUP_N_128_BLOCK_SIZE_M_128", Category::gemm, MatrixMath::none},
      {"fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_ps_32x256", Category::gemm, MatrixMath::tensor_half},
      {"_ZN5aiter45fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256E", Category::gemm, MatrixMath::tensor_half},
      {"void ck::kernel_moe_gemm<ck::GridwiseMoeGemmBlockScale<ck::tensor_layout::gemm::RowMajor> >", Category::gemm,
       MatrixMath::none},
      {"void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemmMultiD_ABScale_xdl_cshuffle_v3<float> >", Category::gemm,
       MatrixMath::tensor_half},
      {"cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_128x64x16_1x1x1_3_tnn_align1_bias_f32_relu", Category::gemm,
       MatrixMath::simt_fp32},
      {"nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNT", Category::gemm, MatrixMath::tensor_half},
      {"_w8a8_block_fp8_matmul", Category::gemm, MatrixMath::tensor_half},
      {"fused_moe_kernel", Category::gemm, MatrixMath::none},
      {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 7168u>", Category::gemm,
       MatrixMath::tensor_half},
      {"bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2_s6_et128x8_m128x8x32_cga1x1x1_16dp256b_TN_transOut_schedS_sm100f",
       Category::gemm, MatrixMath::tensor_half},
      {"void marlin_moe_wna16::Marlin<__nv_bfloat16, 1125899906909960l, 256>", Category::gemm, MatrixMath::tensor_half},
  };
  expect_all(cases);
}

TEST(KernelCategory, knows_attention_of_inference_libraries) {
  const KernelNameCase cases[] = {
      {"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u> >",
       Category::attention, MatrixMath::none},
      {"BatchPrefillWithPagedKVCacheKernel", Category::attention, MatrixMath::none},
      {"BatchDecodeWithPagedKVCacheKernel", Category::attention, MatrixMath::none},
      {"void flashinfer::SinglePrefillWithKVCacheKernel<flashinfer::KernelTraits<1> >", Category::attention,
       MatrixMath::none},
      {"void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16>",
       Category::attention, MatrixMath::none},
      {"mla_a8w8_qh16_qseqlen1_gqaratio16_ps", Category::attention, MatrixMath::none},
      {"mla_a16w8_qh16_m16x4_n16x1_coex0_mask1_ps", Category::attention, MatrixMath::none},
      {"kn_mla_reduce_v1", Category::attention, MatrixMath::none},
      {"_fwd_kernel_stage2_asm", Category::attention, MatrixMath::none},
      {"_fwd_grouped_kernel_stage1", Category::attention, MatrixMath::none},
      {"_sparse_attn_decode_partial_kernel", Category::attention, MatrixMath::none},
      {"_sparse_attn_prefill_ragged_kernel", Category::attention, MatrixMath::none},
      {"fmhaSm100aKernel_QE4m3KvE2m1OE4m3H128PagedKvDenseP16VarSeqQ8Kv128PersistentSwapsAbForGen", Category::attention,
       MatrixMath::none},
      {"paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 256>(float*, int*)",
       Category::attention, MatrixMath::none},
      {"void vllm::merge_attn_states_kernel<float, 128u>", Category::attention, MatrixMath::none},
      {"_ZN5aiter36fmha_fwd_hd128_bf16_causal_rtna_groupE", Category::attention, MatrixMath::none},
      {"_ZN7ck_tile6kentryILi1ENS_13FmhaFwdKernelI", Category::attention, MatrixMath::none},
      {"void "
       "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> "
       "> > >",
       Category::attention, MatrixMath::none},
      {"void pytorch_flash::flash_fwd_splitkv_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 64, 128, 4> >",
       Category::attention, MatrixMath::none},
  };
  expect_all(cases);
}

TEST(KernelCategory, knows_what_inference_libraries_pass_over_memory_with) {
  const KernelNameCase cases[] = {
      {"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, "
       "__nv_bfloat16*, unsigned int)",
       Category::normalization, MatrixMath::none},
      {"void flashinfer::norm::RMSNormKernel<(unsigned int)8, __nv_bfloat16>(T2 *, T2 *)", Category::normalization,
       MatrixMath::none},
      {"kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at__tensorptrbf16gm",
       Category::normalization, MatrixMath::none},
      {"_fused_rms_fp8_group_quant_kernel", Category::normalization, MatrixMath::none},
      {"fused_rms_fp8_group_quant_kernel", Category::normalization, MatrixMath::none},
      {"_fused_q_kv_rmsnorm_kernel", Category::normalization, MatrixMath::none},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256E", Category::normalization, MatrixMath::none},
      {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm", Category::normalization, MatrixMath::none},
      {"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", Category::normalization, MatrixMath::none},
      {"void tensorrt_llm::kernels::generalRmsNorm<__nv_bfloat16, float, false>", Category::normalization,
       MatrixMath::none},
      {"void (anonymous namespace)::fused_qknorm_warp<128l, true, __nv_bfloat16>", Category::normalization,
       MatrixMath::none},
      {"_fused_qk_norm_rope_store_kernel", Category::normalization, MatrixMath::none},
      {"prefill_qk_norm_rope_kernel", Category::normalization, MatrixMath::none},
      {"void "
       "transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<transformer_engine::normalization::Kernel_traits>",
       Category::normalization, MatrixMath::none},
      {"void transformer_engine::normalization::ln_bwd_general_kernel<>", Category::normalization, MatrixMath::none},
      {"l2norm_fwd_kernel", Category::normalization, MatrixMath::none},
      {"void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheHeadParallelismKernel<false, 128u, 8u, 16u, __nv_bfloat16, "
       "long>",
       Category::elementwise, MatrixMath::none},
      {"void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>", Category::elementwise,
       MatrixMath::none},
      {"void flashinfer::AppendPagedKVCacheKernel<128u, 8u>", Category::elementwise, MatrixMath::none},
      {"set_mla_kv_buffer_kernel", Category::elementwise, MatrixMath::none},
      {"void aiter::swiglu_act_and_mul_kernel<std::bfloat16_t, std::bfloat16_t, 8>", Category::elementwise,
       MatrixMath::none},
      {"void tensorrt_llm::kernels::doActivationKernel<__nv_bfloat16, __nv_bfloat16>", Category::elementwise,
       MatrixMath::none},
      {"_ZN5aiter37dynamic_per_group_scaled_quant_kernelIDF16bDB8_Li32ELi128ELb0ELi64ELb0EEEvPT0_",
       Category::elementwise, MatrixMath::none},
      {"void vllm::cvt_fp16_to_fp4<__nv_bfloat16, false>", Category::elementwise, MatrixMath::none},
      {"void tensorrt_llm::kernels::mla::applyMLARopeAndAssignQKVKernelGeneration<__nv_bfloat16, 256, 576>",
       Category::elementwise, MatrixMath::none},
      {"void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>", Category::elementwise, MatrixMath::none},
      {"_inverse_rope_gptj_kernel", Category::elementwise, MatrixMath::none},
      {"void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>", Category::elementwise, MatrixMath::none},
      {"void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<__nv_bfloat16, __nv_bfloat16>",
       Category::gather, MatrixMath::none},
      {"void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_bfloat16>", Category::gather,
       MatrixMath::none},
      {"void flashinfer::sampling::TopPSamplingFromProbKernel<1024u>", Category::reduction, MatrixMath::none},
      {"void flashinfer::sampling::RadixTopKKernel_Unified<1024u>", Category::reduction, MatrixMath::none},
      {"void aiter::opus_moe_sorting_entry<aiter::MoeSortingKernel<aiter::MoeSortingProblemEx<int> > >",
       Category::reduction, MatrixMath::none},
      {"void at::native::sbtopk::gatherTopK<c10::BFloat16, unsigned int, 2>", Category::reduction, MatrixMath::none},
      {"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 2>", Category::communication, MatrixMath::none},
      {"void aiter::reduce_scatter_cross_device_store<>", Category::communication, MatrixMath::none},
      {"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<>", Category::communication,
       MatrixMath::none},
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
