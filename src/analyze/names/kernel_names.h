// What the name of a kernel tells beside its category.
#pragma once

#include <string_view>

namespace warpmark::analyze {

/// A product that XLA fused with what surrounds it.
[[nodiscard]] bool is_xla_product(std::string_view kernel);
/// Of PyTorch's own kernels, as libraries' are not.
[[nodiscard]] bool is_of_aten(std::string_view kernel);
/// Of a framework, a library or a compiler: no user writes it.
[[nodiscard]] bool is_of_library(std::string_view kernel);
/// Before arguments and template parameters: kernel profilers and timelines spell the rest differently.
[[nodiscard]] std::string_view stem_of(std::string_view kernel);

/// Of a copy, or of one that converts between types.
[[nodiscard]] bool is_copy_kernel(std::string_view kernel);
/// PyTorch's kernels that convert (direct_copy_kernel_cuda, ...); to 16 bits (bfloat16_copy_kernel_cuda).
[[nodiscard]] bool is_conversion_kernel(std::string_view kernel);
[[nodiscard]] bool is_narrowing_kernel(std::string_view kernel);
[[nodiscard]] bool works_on_doubles(std::string_view kernel);
[[nodiscard]] bool works_on_16_bits(std::string_view kernel);

/// About as many elements as a thread takes, where sizes are only compared: 4 of all that are not vectorized otherwise
/// (elements_a_thread() counts those of single kernels).
[[nodiscard]] double usual_elements_a_thread(std::string_view kernel);

/// An update of parameters that is fused in part; from beginning to end.
[[nodiscard]] bool is_fused_update(std::string_view kernel);
[[nodiscard]] bool is_whole_update(std::string_view kernel);
[[nodiscard]] bool scatters_rows(std::string_view kernel);
[[nodiscard]] bool is_log_softmax(std::string_view kernel);
[[nodiscard]] bool is_of_backward_pass(std::string_view kernel);
/// Scaling, widening, masking and narrowing around the products of attention.
[[nodiscard]] bool surrounds_attention(std::string_view kernel);
/// Batch normalization over rows of one channel has a block for each channel, whatever the batch: ATen
/// (Normalization.cuh, `blocks(input.size(1))`) and cuDNN ("1C11": one mean for each C).
[[nodiscard]] bool has_block_a_channel(std::string_view kernel);
/// Batch normalization with statistics that are there already.
[[nodiscard]] bool applies_batch_norm(std::string_view kernel);
/// Numbers that a kernel of CUTLASS reads at once ("..._align2"); 0 of others.
[[nodiscard]] int numbers_read_at_once(std::string_view kernel);
/// A product of numbers of 8 bits.
[[nodiscard]] bool works_on_8_bits(std::string_view kernel);
inline constexpr std::string_view kTensorPath = "sm__ops_path_tensor_src_";
/// "bf16_dst_fp32" of a kernel profiler's metric of what tensor cores do a second with floating point numbers; empty of
/// other metrics.
[[nodiscard]] std::string_view tensor_path_of(std::string_view metric);
/// One rank sends others what it made.
[[nodiscard]] bool sends_results(std::string_view kernel);

}  // namespace warpmark::analyze
