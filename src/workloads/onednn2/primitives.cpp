// oneDNN 2 (Debian 12, Ubuntu 22.04): an operation descriptor first, then the primitive descriptor made from it.
#include "workloads/onednn_primitives.h"

namespace warpmark::workloads {
namespace {

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc training_hint(const dnnl::engine& engine, const Convolution& convolution) {
  return describe_forward(engine, dnnl::prop_kind::forward_training, convolution, {});
}

}  // namespace

dnnl::memory::desc in_any_layout(const dnnl::memory::desc& tensor) {
  return {tensor.dims(), tensor.data_type(), dnnl::memory::format_tag::any};
}

dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine, const MatmulTensors& tensors,
                                             const dnnl::primitive_attr& attributes) {
  return {dnnl::matmul::desc(tensors.a, tensors.b, tensors.c), attributes, engine};
}

dnnl::convolution_forward::primitive_desc describe_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                                           const Convolution& convolution,
                                                           const dnnl::primitive_attr& attributes) {
  const auto& [input, weights, output, strides, low, high] = convolution;
  return {dnnl::convolution_forward::desc(kind, kAlgorithm, input, weights, output, strides, low, high), attributes,
          engine};
}

dnnl::convolution_backward_data::primitive_desc describe_backward_data(const dnnl::engine& engine,
                                                                       const Convolution& convolution,
                                                                       const dnnl::primitive_attr& attributes) {
  const auto& [input, weights, output, strides, low, high] = convolution;
  return {dnnl::convolution_backward_data::desc(kAlgorithm, input, weights, output, strides, low, high), attributes,
          engine, training_hint(engine, convolution)};
}

dnnl::convolution_backward_weights::primitive_desc describe_backward_weights(const dnnl::engine& engine,
                                                                             const Convolution& convolution,
                                                                             const dnnl::primitive_attr& attributes) {
  const auto& [input, weights, output, strides, low, high] = convolution;
  return {dnnl::convolution_backward_weights::desc(kAlgorithm, input, weights, output, strides, low, high), attributes,
          engine, training_hint(engine, convolution)};
}

}  // namespace warpmark::workloads
