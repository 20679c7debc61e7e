// What a kernel computes, told from tokens of its name (demangled, mangled or generated) and, where the name says
// nothing, from the framework operator that launched it; and whether a matrix kernel runs on tensor cores. Names:
// cuBLAS/cuBLASLt (nvjet, cutlass, xmma, sgemm), cuDNN, PyTorch ATen, Triton/Inductor, FlashAttention, Transformer
// Engine, NCCL, CuPy, Thrust and CUB, Numba's vectorize. Tensor-core tokens of Hopper and Blackwell: wgmma,
// sm90_/sm100_ ... tensorop, nvjet, hmma, imma.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/names/words.h"

namespace warpmark::analyze {

enum class Category : std::uint8_t {
  gemm,
  convolution,
  attention,
  normalization,
  softmax,
  elementwise,
  reduction,
  gather,     ///< embeddings, indexing, scatter
  optimizer,  ///< launched in an optimizer's step, or by its name
  graph,      ///< a graph launch without records of its nodes
  other,
  communication,
  copy_to_device,
  copy_to_host,
  copy_on_device,
  memset,
  count,
};

/// Arithmetic of a matrix kernel.
enum class MatrixMath : std::uint8_t {
  none,         ///< no matrix kernel, or nothing can be told
  simt_fp32,    ///< single precision without tensor cores
  vector_fp32,  ///< a matrix times one vector or a few, single precision: bound by the matrix's bytes
  simt_fp64,    ///< double precision, whatever units
  simt_half,    ///< inputs of 16 bits without tensor cores
  tensor_tf32,  ///< tensor cores on single precision inputs
  tensor_half,  ///< tensor cores on 16 bits or fewer
};

[[nodiscard]] const char* category_id(Category category);

/// `name` of the kernel, `op` of the operator that launched it (may be empty). Never a copy or memset.
[[nodiscard]] Category kernel_category(std::string_view name, std::string_view op);
/// torch.nn.functional.unfold and fold: the same kernels as within some convolutions, but moving data is all they do.
[[nodiscard]] bool lays_out_windows(std::string_view op);
[[nodiscard]] bool adds_up_windows(std::string_view op);
[[nodiscard]] MatrixMath matrix_math(std::string_view name, Category category);
/// Conversion between NCHW and NHWC, or a transpose that exists for the layout only.
[[nodiscard]] bool is_layout_conversion(std::string_view kernel_name);
/// A kernel that XLA made of what it fused, or of one operation that it wrapped; not its matrix products.
/// Asked of every kernel of a chain: copies nothing. XLA writes lower case.
[[nodiscard]] bool is_xla_fusion(std::string_view kernel_name);
/// A framework or a library of algorithms named the kernel, which is one operation then; else the program did.
[[nodiscard]] bool is_of_framework(std::string_view kernel_name);
/// All its data is in double precision, as its own parameters or CuPy's types say: a pointer or a template's argument,
/// and none of another floating-point type. No framework's, whose names also hold the types of scalars and sums.
[[nodiscard]] bool is_in_doubles(std::string_view kernel_name);
/// One kernel for many parameters (foreach, fused, Apex multi-tensor).
[[nodiscard]] bool is_multi_tensor(std::string_view kernel_name);

}  // namespace warpmark::analyze
