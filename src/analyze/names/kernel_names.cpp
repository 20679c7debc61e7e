#include "analyze/names/kernel_names.h"

#include "analyze/names/words.h"
#include "base/text.h"

namespace warpmark::analyze {

bool is_xla_product(std::string_view kernel) { return kernel.starts_with("gemm_fusion"); }

bool is_of_aten(std::string_view kernel) { return contains_any(kernel, {"at::native", "at6native"}); }

bool is_of_library(std::string_view kernel) {
  return contains_any(kernel, {"at::native", "cublas", "cutlass", "cudnn", "xmma", "nvjet", "nccl", "cub::", "thrust::",
                               "triton_", "ampere_", "volta_", "turing_", "sm80_", "sm90_", "sm100_"});
}

std::string_view stem_of(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  return kernel.substr(0, kernel.find_first_of("(<"));
}

bool is_copy_kernel(std::string_view kernel) { return contains_any(kernel, {"copy"}); }

bool is_conversion_kernel(std::string_view kernel) { return contains_any(kernel, {"copy_kernel"}); }

bool is_narrowing_kernel(std::string_view kernel) { return contains_any(kernel, {"float16_copy_kernel"}); }

bool works_on_doubles(std::string_view kernel) { return contains_any(kernel, {"double"}); }

bool works_on_16_bits(std::string_view kernel) {
  return contains_any(kernel, {"bfloat16", "half", "bf16", "fp16", "f16"});
}

double usual_elements_a_thread(std::string_view kernel) {
  constexpr std::string_view kVectorized = "vectorized_elementwise_kernel<";
  const std::size_t at = kernel.find(kVectorized);
  const std::size_t digit = at == std::string_view::npos ? at : at + kVectorized.size();
  const bool told = digit < kernel.size() && kernel[digit] >= '1' && kernel[digit] <= '9';
  return told ? kernel[digit] - '0' : 4;
}

bool is_fused_update(std::string_view kernel) { return contains_any(kernel, {"fused"}); }

bool is_whole_update(std::string_view kernel) {
  return contains_any(kernel, {"fusedoptimizer", "fusedadam", "fused_adam", "fusedsgd"});
}

bool scatters_rows(std::string_view kernel) { return contains_any(kernel, {"add", "indexfunc", "scatter"}); }

bool is_log_softmax(std::string_view kernel) { return contains_any(kernel, {"logsoftmax", "log_softmax"}); }

bool is_of_backward_pass(std::string_view kernel) { return contains_any(kernel, {"backward", "bwd"}); }

bool surrounds_attention(std::string_view kernel) {
  return contains_any(kernel, {"copy", "aunaryfunctor", "fill", "triu_tril"});
}

bool has_block_a_channel(std::string_view kernel) {
  return contains_any(kernel, {"_1c11_", "batch_norm_collect_statistics_kernel", "batch_norm_backward_kernel"});
}

bool applies_batch_norm(std::string_view kernel) {
  return contains_any(kernel, {"bn_fw_inf", "batch_norm_transform_input", "batchnorm", "bnfw"});
}

int numbers_read_at_once(std::string_view kernel) {
  constexpr std::string_view kWord = "_align";
  int least = 0;
  for (auto at = kernel.find(kWord); at != std::string_view::npos; at = kernel.find(kWord, at + 1)) {
    int number = 0;
    for (std::size_t i = at + kWord.size(); i < kernel.size() && is_digit(kernel[i]) && number < 100; ++i) {
      number = number * 10 + (kernel[i] - '0');
    }
    if (number > 0) least = least == 0 ? number : std::min(least, number);
  }
  return least;
}

bool works_on_8_bits(std::string_view kernel) {
  return contains_any(kernel, {"int8", "_s8", "_u8", "i8i8", "e4m3", "e5m2", "fp8"}) && !works_on_16_bits(kernel);
}

std::string_view tensor_path_of(std::string_view metric) {
  constexpr std::string_view kBegin = kTensorPath, kEnd = ".sum.per_second", kIntegers = "int";
  if (!metric.starts_with(kBegin) || !metric.ends_with(kEnd)) return {};
  metric.remove_prefix(kBegin.size());
  metric.remove_suffix(kEnd.size());
  return metric.starts_with(kIntegers) ? std::string_view() : metric;
}

bool sends_results(std::string_view kernel) { return contains_any(kernel, {"broadcast", "sendrecv"}); }

}  // namespace warpmark::analyze
