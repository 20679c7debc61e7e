#include "analyze/names/kernel_names.h"

#include "analyze/names/words.h"
#include "base/text.h"

namespace warpmark::analyze {

bool is_of_library(std::string_view kernel) {
  return contains_any(kernel, {"at::native", "cublas", "cutlass", "cudnn", "xmma", "nvjet", "nccl", "cub::", "thrust::",
                               "triton_", "ampere_", "volta_", "turing_", "sm80_", "sm90_", "sm100_"});
}

std::string_view stem_of(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  return kernel.substr(0, kernel.find_first_of("(<"));
}

bool works_on_16_bits(std::string_view kernel) {
  return contains_any(kernel, {"bfloat16", "half", "bf16", "fp16", "f16"});
}

bool is_fused_update(std::string_view kernel) { return contains_any(kernel, {"fused"}); }

bool is_whole_update(std::string_view kernel) {
  return contains_any(kernel, {"fusedoptimizer", "fusedadam", "fused_adam", "fusedsgd"});
}

bool is_log_softmax(std::string_view kernel) { return contains_any(kernel, {"logsoftmax", "log_softmax"}); }

bool is_of_backward_pass(std::string_view kernel) { return contains_any(kernel, {"backward", "bwd"}); }

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

}  // namespace warpmark::analyze
