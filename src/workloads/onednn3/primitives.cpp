// oneDNN 3 (Debian 13, Ubuntu 24.04): the primitive descriptor is made at once. Operation descriptors are gone, and
// those of memory have functions that begin with get_.
#include "workloads/onednn_primitives.h"

namespace warpmark::workloads {
namespace {

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc training_hint(const dnnl::engine& engine, const Convolution& convolution) {
  return describe_forward(engine, dnnl::prop_kind::forward_training, convolution, {});
}

}  // namespace

dnnl::memory::desc in_any_layout(const dnnl::memory::desc& tensor) {
  return {tensor.get_dims(), tensor.get_data_type(), dnnl::memory::format_tag::any};
}

dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine, const MatmulTensors& tensors,
                                             const dnnl::primitive_attr& attributes) {
  return {engine, tensors.a, tensors.b, tensors.c, attributes};
}

dnnl::convolution_forward::primitive_desc describe_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                                           const Convolution& convolution,
                                                           const dnnl::primitive_attr& attributes) {
  const auto& [input, weights, output, strides, low, high] = convolution;
  return {engine, kind, kAlgorithm, input, weights, output, strides, low, high, attributes};
}

dnnl::convolution_backward_data::primitive_desc describe_backward_data(const dnnl::engine& engine,
                                                                       const Convolution& convolution,
                                                                       const dnnl::primitive_attr& attributes) {
  const auto& [input, weights, output, strides, low, high] = convolution;
  return {engine,    kAlgorithm, input, weights, output, strides, low, high, training_hint(engine, convolution),
          attributes};
}

dnnl::convolution_backward_weights::primitive_desc describe_backward_weights(const dnnl::engine& engine,
                                                                             const Convolution& convolution,
                                                                             const dnnl::primitive_attr& attributes) {
  const auto& [input, weights, output, strides, low, high] = convolution;
  return {engine,    kAlgorithm, input, weights, output, strides, low, high, training_hint(engine, convolution),
          attributes};
}

}  // namespace warpmark::workloads
