#include "workloads/conv2d/onednn_convolution.h"

#include <omp.h>

#include <array>

#include "workloads/conv2d/conv2d_cpu.h"
#include "workloads/onednn_primitives.h"

namespace warpmark::workloads {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

/// The three tensors as the user has them, in the order of ConvArray.
std::array<Desc, 3> user_layouts(const ConvShape& shape) {
  const auto type = shape.dtype == "bf16" ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  const Tag activations = shape.channels_last ? Tag::nhwc : Tag::nchw;
  const Tag weights = shape.channels_last ? Tag::ohwi : Tag::oihw;
  return {Desc({shape.n, shape.c, shape.h, shape.w}, type, activations),
          Desc({shape.k, shape.c, shape.r, shape.r}, type, weights),
          Desc({shape.n, shape.k, shape.p, shape.q}, type, activations)};
}

/// The tensors in the layouts that the kernel may choose. The high side is padded just enough for the last output:
/// oneDNN demands sizes that match exactly.
Convolution describe(const ConvShape& shape, const std::array<Desc, 3>& layouts, ConvActivations activations) {
  const auto& [input, weights, output] = layouts;
  const bool plain = activations == ConvActivations::plain;
  const auto high = [&](std::int64_t out, std::int64_t in) {
    return (out - 1) * shape.stride + shape.r - in - shape.pad;
  };
  return {.input = plain ? input : in_any_layout(input),
          .weights = in_any_layout(weights),
          .output = plain ? output : in_any_layout(output),
          .strides = {shape.stride, shape.stride},
          .pad_low = {shape.pad, shape.pad},
          .pad_high = {high(shape.p, shape.h), high(shape.q, shape.w)}};
}

}  // namespace

struct OneDnnConvolution::Tensor {
  ConvArray array;
  int argument;
  bool result;
  Desc user;
  Desc kernel;
};

OneDnnConvolution::OneDnnConvolution(const ConvShape& shape, const SetMemory& memory, ConvActivations activations)
    : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
  const auto layouts = user_layouts(shape);
  const auto& [input, weights, output] = layouts;
  const Convolution convolution = describe(shape, layouts, activations);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // else execute() allocates it

  if (shape.pass == ConvPass::forward) {
    const auto pd = describe_forward(engine_, dnnl::prop_kind::forward_inference, convolution, attributes);
    kernel_ = pd.impl_info_str();
    make_scratchpad(shape, pd.scratchpad_desc());
    bind(memory,
         {{kConvInput, DNNL_ARG_SRC, false, input, pd.src_desc()},
          {kConvWeights, DNNL_ARG_WEIGHTS, false, weights, pd.weights_desc()},
          {kConvOutput, DNNL_ARG_DST, true, output, pd.dst_desc()}},
         dnnl::convolution_forward(pd));
    return;
  }
  if (shape.pass == ConvPass::backward_data) {
    const auto pd = describe_backward_data(engine_, convolution, attributes);
    kernel_ = pd.impl_info_str();
    make_scratchpad(shape, pd.scratchpad_desc());
    bind(memory,
         {{kConvInput, DNNL_ARG_DIFF_SRC, true, input, pd.diff_src_desc()},
          {kConvWeights, DNNL_ARG_WEIGHTS, false, weights, pd.weights_desc()},
          {kConvOutput, DNNL_ARG_DIFF_DST, false, output, pd.diff_dst_desc()}},
         dnnl::convolution_backward_data(pd));
    return;
  }
  const auto pd = describe_backward_weights(engine_, convolution, attributes);
  kernel_ = pd.impl_info_str();
  make_scratchpad(shape, pd.scratchpad_desc());
  bind(memory,
       {{kConvInput, DNNL_ARG_SRC, false, input, pd.src_desc()},
        {kConvWeights, DNNL_ARG_DIFF_WEIGHTS, true, weights, pd.diff_weights_desc()},
        {kConvOutput, DNNL_ARG_DIFF_DST, false, output, pd.diff_dst_desc()}},
       dnnl::convolution_backward_weights(pd));
}

/// oneDNN 2.6.3's 1x1 kernels write behind the scratchpad they ask for where the channels do not fill their block of 16
/// and the stride is above 1. So there is room for one block of channels of one image and thread behind it.
void OneDnnConvolution::make_scratchpad(const ConvShape& shape, const dnnl::memory::desc& layout) {
  const std::int64_t room = 16 * shape.p * shape.q * std::int64_t{sizeof(float)} * omp_get_max_threads();
  const auto bytes = static_cast<std::int64_t>(layout.get_size()) + room;
  scratch_room_ = dnnl::memory(Desc({bytes}, dnnl::memory::data_type::u8, Tag::a), engine_);
  scratchpad_ = dnnl::memory(layout, engine_, scratch_room_.get_data_handle());
}

void OneDnnConvolution::bind(const SetMemory& memory, const std::vector<Tensor>& tensors,
                             const dnnl::primitive& primitive) {
  constexpr std::array kNames{"input", "weights", "output"};
  std::map<int, dnnl::memory> between;  // activations in the kernel's layout; sets share them, as each run fills them
  for (const Tensor& tensor : tensors) {
    if (tensor.user == tensor.kernel) continue;
    const bool before_timing = tensor.array == kConvWeights && !tensor.result;
    if (!before_timing) reordered_ += (reordered_.empty() ? "" : ", ") + std::string(kNames[tensor.array]);
    if (!before_timing) between.emplace(tensor.argument, dnnl::memory(tensor.kernel, engine_));
  }
  for (std::size_t set = 0; set < memory.sets(); ++set) {
    std::vector<BoundPrimitive> before;
    std::vector<BoundPrimitive> after;
    std::vector<std::pair<int, dnnl::memory>> arguments{{DNNL_ARG_SCRATCHPAD, scratchpad_}};
    for (const Tensor& tensor : tensors) {
      dnnl::memory user(tensor.user, engine_, memory.bytes(set, tensor.array).data());
      if (tensor.user == tensor.kernel) {
        arguments.emplace_back(tensor.argument, user);
        continue;
      }
      const auto shared = between.find(tensor.argument);
      if (shared == between.end()) {
        dnnl::memory own(tensor.kernel, engine_);
        dnnl::reorder(user, own).execute(stream_, user, own);
        arguments.emplace_back(tensor.argument, own);
        continue;
      }
      dnnl::memory from = tensor.result ? shared->second : user;
      dnnl::memory to = tensor.result ? user : shared->second;
      auto& steps = tensor.result ? after : before;
      steps.emplace_back(dnnl::reorder(from, to),
                         std::vector<std::pair<int, dnnl::memory>>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
      arguments.emplace_back(tensor.argument, shared->second);
    }
    before.emplace_back(primitive, std::move(arguments));
    for (auto& step : after) before.push_back(std::move(step));
    runs_.push_back(std::move(before));
  }
  stream_.wait();
}

Status OneDnnConvolution::run(std::size_t set) const {
  for (const auto& step : runs_[set]) WM_TRY(step.execute(stream_));
  return {};
}

}  // namespace warpmark::workloads
