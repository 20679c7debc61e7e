// What the name of a kernel tells beside its category.
#pragma once

#include <string_view>

namespace warpmark::analyze {

/// Of a framework, a library or a compiler: no user writes it.
[[nodiscard]] bool is_of_library(std::string_view kernel);
/// Before arguments and template parameters: kernel profilers and timelines spell the rest differently.
[[nodiscard]] std::string_view stem_of(std::string_view kernel);

[[nodiscard]] bool works_on_16_bits(std::string_view kernel);

/// An update of parameters that is fused in part; from beginning to end.
[[nodiscard]] bool is_fused_update(std::string_view kernel);
[[nodiscard]] bool is_whole_update(std::string_view kernel);
[[nodiscard]] bool is_log_softmax(std::string_view kernel);
[[nodiscard]] bool is_of_backward_pass(std::string_view kernel);
/// Numbers that a kernel of CUTLASS reads at once ("..._align2"); 0 of others.
[[nodiscard]] int numbers_read_at_once(std::string_view kernel);
/// A product of numbers of 8 bits.
[[nodiscard]] bool works_on_8_bits(std::string_view kernel);
inline constexpr std::string_view kTensorPath = "sm__ops_path_tensor_src_";
/// "bf16_dst_fp32" of a kernel profiler's metric of what tensor cores do a second with floating point numbers; empty of
/// other metrics.
[[nodiscard]] std::string_view tensor_path_of(std::string_view metric);

}  // namespace warpmark::analyze
