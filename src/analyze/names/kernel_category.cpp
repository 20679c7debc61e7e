#include "analyze/names/kernel_category.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "base/text.h"

namespace warpmark::analyze {

namespace {

/// XLA names a fusion after its kind and its root ("loop_add_fusion_3", "input_reduce_fusion", "gemm_fusion_dot_7"), or
/// with a number alone, and what it need not fuse "wrapped_add" (xla/service/gpu/transforms/fusion_wrapper.cc).
bool is_fusion(std::string_view name) {
  if (name.starts_with("wrapped_") || name.starts_with("fusion_") || name == "fusion") return true;
  return (name.starts_with("loop_") || name.starts_with("input_")) && holds_any(name, {"fusion"});
}

Category of_fusion(std::string_view name) {
  if (holds_any(name, {"gather", "scatter"})) return Category::gather;
  return holds_any(name, {"reduce", "argmax", "sort"}) && !holds_any(name, {"reduce_window", "reduce_precision"})
             ? Category::reduction
             : Category::elementwise;
}

/// CuPy names a kernel after its function: a ufunc by its name and the types of what it reads and writes
/// ("cupy_multiply__float32_float_float32", cupy/_core/_kernel.pyx), reductions and others by the name alone
/// ("cupy_sum"). Those of cupyx are stencils, sparse matrices and the like, but for its ufuncs.
Category of_cupy(std::string_view name) {
  if (holds_any(name, {"__"})) return Category::elementwise;
  if (!name.starts_with("cupy_")) return Category::other;
  name.remove_prefix(std::string_view("cupy_").size());
  if (name.starts_with("nan")) name.remove_prefix(std::string_view("nan").size());
  const auto begins = [name](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [name](std::string_view word) { return name.starts_with(word); });
  };
  if (begins({"take", "scatter", "getitem", "put", "choose", "flatiter"})) return Category::gather;
  return begins({"sum", "prod", "mean", "max", "min", "arg", "all", "any", "count", "var_core", "scan", "bsum",
                 "inclusive_", "add_scan", "histogram", "weighted_histogram", "bincount", "cub_"})
             ? Category::reduction
             : Category::elementwise;
}

/// "conv", but not "convert" or "conversion", which change a type or a layout, nor "convergence" or a "convex" hull.
bool names_convolution(std::string_view name) {
  for (auto at = name.find("conv"); at != std::string_view::npos; at = name.find("conv", at + 1)) {
    const std::string_view word = name.substr(at);
    if (!word.starts_with("conver") && !word.starts_with("convex")) return true;
  }
  return false;
}

/// Not the end of "batched" or "grouped" before a "gemm".
bool names_dgemm(std::string_view name) {
  for (auto at = name.find("dgemm"); at != std::string_view::npos; at = name.find("dgemm", at + 1)) {
    if (at == 0 || name[at - 1] != 'e') return true;
  }
  return false;
}

/// Of llama.cpp (ggml-cuda).
Category of_ggml(std::string_view name) {
  if (holds_any(name, {"mul_mat_"})) return Category::gemm;
  if (holds_any(name, {"get_rows"})) return Category::gather;
  if (holds_any(name, {"soft_max_f"})) return Category::softmax;
  const bool passes =
      holds_any(name, {"bin_bcast", "unary_op_kernel", "scale_f32", "concat_cont", "ssm_conv", "cpy_f"});
  return passes ? Category::elementwise : Category::other;
}

/// Kernels that inference servers bring, and libraries that name them in ways of their own.
Category of_server(std::string_view name) {
  // Tensile's (rocBLAS, hipBLASLt) names spell the indices of the contraction; mixture-of-experts kernels multiply;
  // wvSplitK and LLMM1 are vLLM's products with few rows.
  if (holds_any(name, {"cijk_", "marlin", "machete", "fused_moe", "fmoe", "moe_gemm", "mfma_moe", "flatmm", "deep_gemm",
                       "wvsplitk", "llmm1"}) ||
      name.starts_with("bmm_") || name.starts_with("triton_bmm")) {
    return Category::gemm;
  }
  if (const Category category = of_ggml(name); category != Category::other) return category;
  if (name.starts_with("igemm_") || name.starts_with("miopensp3asmconv")) return Category::convolution;
  // Positions are turned in place; new keys and values are copied into a cache.
  if (holds_any(name, {"rotary", "reshape_and_cache", "concat_and_cache", "appendpaged", "kv_buffer"})) {
    return Category::elementwise;
  }
  return holds_any(name, {"expandinputrows", "moerouting"}) ? Category::gather : Category::other;
}

bool names_normalization(std::string_view name) {
  return holds_any(name, {"batch_norm", "batchnorm", "layer_norm", "layernorm", "rms_norm", "rmsnorm", "_rms_",
                          "groupnorm", "group_norm", "instance_norm", "qk_norm", "qknorm"}) ||
         holds_any(name, {"norm_rope", "l2norm_fwd", "::bn_", "bn_fw", "bn_bw", "gammabeta", "rowwisemoments", "ln_fwd",
                          "ln_bwd", "weight_norm", "computefusedparams", "computeinternalgradients"});
}

bool names_elementwise(std::string_view name) {
  return holds_any(name,
                   {"elementwise", "pointwise", "triton_poi", "catarray", "copy_kernel", "fill", "dropout", "transpose",
                    "upsample", "masked", "where_kernel", "tril", "triu", "distribution_", "relu"}) ||
         holds_any(name, {"gelu", "silu", "swiglu", "activation", "and_mul", "quantize", "_quant", "cvt_", "roll_cuda",
                          "flip_kernel", "reflection_pad", "replication_pad", "rope_", "_rope", "ropeandassign"}) ||
         holds_any(name, {"unary_transform_f", "binary_transform_f", "detail::transform::", "__vectorized_"});
}

/// Categories that a name states; `other` if it states none. The order matters: specific before general.
Category by_name(std::string_view name) {
  if (is_fusion(name)) return of_fusion(name);
  if (name.starts_with("cupy_") || name.starts_with("cupyx_")) return of_cupy(name);
  if (holds_any(name, {"nccl", "rccl", "nvshmem", "cross_device_reduce", "all_reduce", "allreduce", "allgather",
                       "all_gather", "reducescatter", "reduce_scatter", "multimem_", "alltoall", "all_to_all",
                       "deep_ep", "internode", "intranode", "mscclpp", "cross_device", "sendrecv"})) {
    return Category::communication;
  }
  if (const Category category = of_server(name); category != Category::other) return category;
  // The backward pass of FlashAttention and cuDNN sums dO * O first, and rounds dQ last.
  if (holds_any(name, {"flash", "fmha", "sdpa", "attention", "attn", "_mha_", "mha_fwd", "mha_bwd", "_mla_", "mla_a",
                       "mla_dec", "prefillwith", "decodewith", "dot_do_o", "convert_dq", "sage_fwd", "mergestates",
                       "fwd_kernel_stage", "fwd_grouped_kernel_stage"}))
    return Category::attention;
  if (holds_any(name, {"fusedoptimizer", "fusedadam", "adam", "lamb_", "distopt"})) return Category::optimizer;
  if (holds_any(name, {"multi_tensor_apply", "multitensorapply"})) return Category::optimizer;
  if (holds_any(name, {"splitkreduce", "cublas", "nvjet"})) return Category::gemm;
  if (holds_any(name, {"reduce_kernel", "triton_red", "gathertopk"})) return Category::reduction;
  if (names_normalization(name)) return Category::normalization;
  if (holds_any(name, {"softmax"})) return Category::softmax;
  if (holds_any(name, {"nchwtonhwc", "nhwctonchw", "transpose_readwrite"})) return Category::elementwise;
  if (holds_any(name,
                {"fprop", "dgrad", "wgrad", "winograd", "implicit_gemm", "im2col", "col2im", "cudnn::ops::nchw",
                 "scudnn_", "884cudnn_", "1688cudnn_", "16816cudnn_"}) ||  // cuDNN's tiles: volta_scudnn_128x64_relu
      names_convolution(name)) {
    return Category::convolution;
  }
  if (holds_any(name,
                {"gemm", "gemv", "gemvx", "cutlass", "xmma", "wgmma", "matmul", "dot_kernel", "_mm_", "triton_tem"})) {
    return Category::gemm;
  }
  if (holds_any(name, {"embedding", "indexselect", "index_select", "gather", "scatter", "indexing_backward",
                       "gpu_index_kernel", "index_elementwise", "indexfunc", "index_put", "index_copy", "index_add",
                       "take_kernel"})) {
    return Category::gather;
  }
  if (names_elementwise(name)) return Category::elementwise;
  if (holds_any(name, {"reduce", "triton_per", "nll_loss", "nllloss", "cross_entropy", "crossentropy", "argmax",
                       "cumsum", "scan", "sort", "topk", "toppsampling", "samplingfrom", "histogram"})) {
    return Category::reduction;
  }
  return holds_any(name, {"convert"}) ? Category::elementwise : Category::other;
}

/// FlashInfer names kernels of all kinds after itself, and not those of attention alone.
std::string without_library(std::string name) {
  constexpr std::string_view kLibrary = "flashinfer";
  for (auto at = name.find(kLibrary); at != std::string::npos; at = name.find(kLibrary))
    name.erase(at, kLibrary.size());
  return name;
}

Category by_operator(std::string_view op) {
  if (holds_any(op, {"attention", "flash"})) return Category::attention;
  if (holds_any(op, {"adam", "_foreach_", "_fused_sgd"})) return Category::optimizer;
  if (holds_any(op, {"conv"})) return Category::convolution;
  if (holds_any(op, {"::mm", "::bmm", "addmm", "matmul", "linear", "baddbmm", "einsum"})) return Category::gemm;
  if (holds_any(op, {"norm"})) return Category::normalization;
  if (holds_any(op, {"softmax"})) return Category::softmax;
  if (holds_any(op, {"embedding", "index", "gather", "scatter"})) return Category::gather;
  if (holds_any(op, {"::sum", "::mean", "::max", "::min", "::amax", "loss"})) return Category::reduction;
  if (holds_any(op, {"::add", "::mul", "::sub", "::div", "::copy_", "::cat", "relu", "gelu", "dropout", "::fill_"})) {
    return Category::elementwise;
  }
  return Category::other;
}

/// Tensile: "Cijk_<indices of A>_<of B>_<types>[_<options>]_MT128x128x16...": the first type is that of the inputs, and
/// option M says what FP32 is multiplied in ("S_MX_B": TF32; ProblemType.__str__ of rocm-libraries' Tensile).
MatrixMath math_of_tensile(std::string_view name) {
  for (int parts = 0; parts < 3; ++parts) name.remove_prefix(std::min(name.size(), name.find('_') + 1));
  if (name.starts_with("s_mx")) return MatrixMath::tensor_tf32;
  switch (name.empty() ? ' ' : name.front()) {
    case 's': return MatrixMath::simt_fp32;
    case 'd': return MatrixMath::simt_fp64;
    case 'h':
    case 'b':
    case 'f':
    case 'i': return MatrixMath::tensor_half;
    default: return MatrixMath::none;  // complex: C, Z
  }
}

}  // namespace

const char* category_id(Category category) {
  static constexpr std::array<const char*, static_cast<std::size_t>(Category::count)> kIds = {
      "gemm",           "convolution",  "attention",      "normalization", "softmax", "elementwise",
      "reduction",      "gather",       "optimizer",      "graph",         "other",   "communication",
      "copy_to_device", "copy_to_host", "copy_on_device", "memset"};
  return kIds[static_cast<std::size_t>(category)];
}

Category kernel_category(std::string_view name, std::string_view op) {
  const Category stated = by_name(without_library(ascii_lower(name)));
  return stated == Category::other && !op.empty() ? by_operator(ascii_lower(op)) : stated;
}

bool lays_out_windows(std::string_view op) { return op == "aten::im2col"; }

bool adds_up_windows(std::string_view op) { return op == "aten::col2im"; }

MatrixMath matrix_math(std::string_view name, Category category) {
  if (category != Category::gemm && category != Category::convolution) return MatrixMath::none;
  const std::string text = ascii_lower(name);
  if (holds_any(text, {"cusparse::csr", "cusparse::coo"}))
    return MatrixMath::none;                                  // gathers rows, which no tensor core does
  if (holds_any(text, {"mul_mat"})) return MatrixMath::none;  // of llama.cpp: its types are numbers
  if (const auto at = text.find("cijk_"); at != std::string::npos) return math_of_tensile(text.substr(at));
  if (names_dgemm(text) || holds_any(text, {"d884", "f64f64", "double", "_dd_", "cd_"})) {
    if (!holds_any(text, {"bf16", "f16f16", "float16"})) return MatrixMath::simt_fp64;
  }
  if (holds_any(text, {"tf32", "s1688", "nvjet_sm90_sss", "nvjet_sm100_sss"}) &&
      !holds_any(text, {"bf16", "_f16", "half"})) {
    return MatrixMath::tensor_tf32;
  }
  if (holds_any(text, {"fp16_sgemm", "_hgemm_"}))
    return MatrixMath::simt_half;  // of cuBLAS: "volta_fp16_sgemm_fp16_..."
  if (holds_any(text, {"bf16",  "float16", "f16f16", "_f16", "half",  "hmma",  "imma",  "h884",
                       "h1688", "s16816",  "i16832", "e4m3", "e5m2",  "fp8",   "nvjet", "wgmma",
                       "gmma",  "hgemm",   "int8",   "i8i8", "_fp16", "h16816"})) {
    return MatrixMath::tensor_half;
  }
  if (holds_any(text, {"tensorop", "triton", "xdl"}))
    return MatrixMath::tensor_half;  // no better is told: never accuse by guess
  if (holds_any(text, {"gemv"}) && holds_any(text, {"float"}) && !holds_any(text, {"complex", "float2"}))
    return MatrixMath::vector_fp32;
  // A depthwise convolution multiplies every channel by itself: no matrix product for tensor cores.
  if (holds_any(text, {"splitkreduce", "im2col", "col2im", "gemv", "computeoffsets", "dot_kernel", "gen_conv",
                       "depthwise"})) {
    return MatrixMath::none;
  }
  if (holds_any(text, {"sgemm", "ffma", "simt", "float", "f32f32", "scudnn", "cf32", "s32", "fp32", "_ss_"})) {
    return MatrixMath::simt_fp32;
  }
  return MatrixMath::none;
}

bool is_layout_conversion(std::string_view kernel_name) {
  return contains_any(kernel_name, {"nchwtonhwc", "nhwctonchw", "transpose_readwrite"});
}

bool is_xla_fusion(std::string_view kernel_name) { return is_fusion(kernel_name); }

bool is_of_framework(std::string_view kernel_name) {
  return is_fusion(kernel_name) || contains_any(kernel_name, {"at::native", "at6native", "triton_", "cupy_", "thrust",
                                                              "cub::", "tensorflow", "paddle"});
}

bool is_in_doubles(std::string_view kernel_name) {
  if (kernel_name.starts_with("cupy")) return holds_any(kernel_name, {"float64", "complex128"});
  if (!holds_any(kernel_name, {"double"}) || is_of_framework(kernel_name)) return false;
  return holds_any(kernel_name, {"<double", ", double>", "double*", "double const*", "double2*", "double2 const*",
                                 "double3*", "double3 const*", "double4*", "double4 const*"}) &&
         !holds_any(kernel_name, {"float", "half", "bfloat"});
}

bool is_multi_tensor(std::string_view kernel_name) {
  return contains_any(kernel_name,
                      {"multi_tensor", "multitensor", "fusedoptimizer", "fusedadam", "fused_adam", "foreach"});
}

}  // namespace warpmark::analyze
