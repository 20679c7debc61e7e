// What oneDNN 2 and oneDNN 3 spell differently: the descriptors of primitives. onednn2/ and onednn3/ define these
// functions, and the build compiles the folder of the oneDNN it finds; no other source asks for the version. All of
// them throw dnnl::error: call them within onednn_call().
#pragma once

#include <dnnl.hpp>

namespace warpmark::workloads {

/// The same tensor, in whichever layout the primitive likes best.
[[nodiscard]] dnnl::memory::desc in_any_layout(const dnnl::memory::desc& tensor);

struct MatmulTensors {
  dnnl::memory::desc a;  ///< m x k
  dnnl::memory::desc b;  ///< k x n
  dnnl::memory::desc c;  ///< m x n, the result
};

[[nodiscard]] dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine, const MatmulTensors& tensors,
                                                           const dnnl::primitive_attr& attributes);

/// A convolution without bias or dilation, the same for all three passes.
struct Convolution {
  dnnl::memory::desc input;
  dnnl::memory::desc weights;
  dnnl::memory::desc output;
  dnnl::memory::dims strides;
  dnnl::memory::dims pad_low;
  dnnl::memory::dims pad_high;
};

/// `kind`: forward_inference, or forward_training for the descriptor that a backward pass takes as its hint.
[[nodiscard]] dnnl::convolution_forward::primitive_desc describe_forward(const dnnl::engine& engine,
                                                                         dnnl::prop_kind kind,
                                                                         const Convolution& convolution,
                                                                         const dnnl::primitive_attr& attributes);

[[nodiscard]] dnnl::convolution_backward_data::primitive_desc describe_backward_data(
    const dnnl::engine& engine, const Convolution& convolution, const dnnl::primitive_attr& attributes);

[[nodiscard]] dnnl::convolution_backward_weights::primitive_desc describe_backward_weights(
    const dnnl::engine& engine, const Convolution& convolution, const dnnl::primitive_attr& attributes);

}  // namespace warpmark::workloads
