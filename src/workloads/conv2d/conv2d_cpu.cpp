// conv2d on the CPU: makes the tensors and picks the faster way to feed the kernel.
#include "workloads/conv2d/conv2d_cpu.h"

#include <fmt/format.h>
#include <omp.h>
#include <dnnl.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/clock.h"
#include "workloads/onednn.h"
#include "workloads/onednn_primitives.h"
#include "workloads/set_memory.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

/// How activations reach the kernel.
enum class ConvActivations {
  plain,      ///< the kernel works on the user's layout
  reordered,  ///< the kernel's own layout; reordering to and from the user's is part of every run
};

/// Weights that are an input are brought into the kernel's layout once, before timing, as an application does when it
/// loads a model; weights that are the result are brought back to the user's layout in every run.
class OneDnnConvolution {
 public:
  /// `memory` must outlive it. Throws dnnl::error: make it within onednn_call().
  OneDnnConvolution(const ConvShape& shape, const SetMemory& memory, ConvActivations activations);

  [[nodiscard]] Status run(std::size_t set) const;

  [[nodiscard]] const std::string& kernel() const { return kernel_; }
  /// "input, output", or "" if the kernel works on the user's layout.
  [[nodiscard]] const std::string& reordered() const { return reordered_; }

 private:
  struct Tensor;
  void make_scratchpad(const ConvShape& shape, const dnnl::memory::desc& layout);
  void bind(const SetMemory& memory, const std::vector<Tensor>& tensors, const dnnl::primitive& primitive);

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory scratch_room_;  ///< holds scratchpad_
  dnnl::memory scratchpad_;
  std::string kernel_;
  std::string reordered_;
  std::vector<std::vector<BoundPrimitive>> runs_;  ///< steps of each set
};

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

using device::Support;
using Notes = std::vector<std::pair<std::string, std::string>>;

class ConvOnCpu final : public measure::Prepared {
 public:
  ConvOnCpu(ConvShape shape, std::uint64_t seed, SetMemory memory)
      : shape_(std::move(shape)), seed_(seed), memory_(std::move(memory)) {}

  /// Makes the kernels for plain and for reordered activations, and keeps the faster.
  Status choose();

  Status launch(device::Stream /*stream*/, std::size_t set) override { return convolution_->run(set); }

  Status poison() override {
    memory_.poison(conv_result(shape_.pass));
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const ConvTensors tensors{memory_.bytes(set, kConvInput), memory_.bytes(set, kConvWeights),
                              memory_.bytes(set, kConvOutput)};
    return check_conv2d(shape_, tensors, array_seed(seed_, set, 3));
  }

  [[nodiscard]] Notes notes() const override { return notes_; }

 private:
  ConvShape shape_;
  std::uint64_t seed_;
  SetMemory memory_;
  std::unique_ptr<OneDnnConvolution> convolution_;  ///< refers to memory_
  Notes notes_;
};

Result<double> run_seconds(const OneDnnConvolution& convolution) {
  const std::int64_t start = monotonic_ns();
  WM_TRY(convolution.run(0));
  return static_cast<double>(monotonic_ns() - start) * 1e-9;
}

/// Seconds of one run of each, the first ones where they already differ twofold, the second ones else.
struct Trial {
  double plain = 0;
  double reordered = 0;
};
Result<Trial> try_both(const OneDnnConvolution& plain, const OneDnnConvolution& reordered) {
  Trial trial;
  for (int i = 0; i < 2; ++i) {
    WM_ASSIGN(trial.reordered, run_seconds(reordered));
    WM_ASSIGN(trial.plain, run_seconds(plain));
    if (std::max(trial.plain, trial.reordered) > 2 * std::min(trial.plain, trial.reordered)) break;
  }
  return trial;
}

Status ConvOnCpu::choose() {
  const auto make = [&](ConvActivations activations) {
    return onednn_call(fmt::format("convolve {} tensors of n={} c={} h={} w={} k={} r={}", shape_.dtype, shape_.n,
                                   shape_.c, shape_.h, shape_.w, shape_.k, shape_.r),
                       [&] { return std::make_unique<OneDnnConvolution>(shape_, memory_, activations); });
  };
  WM_ASSIGN(auto reordered, make(ConvActivations::reordered));
  auto plain = make(ConvActivations::plain);
  if (plain.ok() && (*plain)->kernel() != reordered->kernel()) {
    WM_ASSIGN(const Trial trial, try_both(**plain, *reordered));
    notes_.emplace_back("tried",
                        fmt::format("plain activations {:.3g} s, reordered {:.3g} s", trial.plain, trial.reordered));
    convolution_ = trial.plain <= trial.reordered ? std::move(plain).value() : std::move(reordered);
  } else {
    convolution_ = plain.ok() ? std::move(plain).value() : std::move(reordered);
  }
  notes_.emplace_back("algorithm", fmt::format("oneDNN {}, direct, {}", onednn_version(), convolution_->kernel()));
  notes_.emplace_back("reordered in the timed region",
                      convolution_->reordered().empty() ? "nothing" : convolution_->reordered());
  if (shape_.pass != ConvPass::backward_weights) notes_.emplace_back("weights", "in the kernel's layout before timing");
  notes_.emplace_back("threads", std::to_string(omp_get_max_threads()));
  return {};
}

}  // namespace

Support conv2d_supports_cpu(const DeviceInfo& /*device*/, const Params& params) {
  const std::string& dtype = params.text("dtype");
  if (dtype == "f32") return Support::yes();
  if (dtype == "bf16") return cpu_multiplies_bf16();
  return Support::no(fmt::format("oneDNN {} has no {} convolution on the CPU", onednn_version(), dtype),
                     "use dtype=f32 or bf16");
}

Result<std::unique_ptr<measure::Prepared>> conv2d_prepare_cpu(const measure::PrepareOptions& options) {
  WM_ASSIGN(const ConvShape shape, conv_shape(options.params));
  const auto element = static_cast<std::size_t>(element_bytes(shape.dtype));
  const std::array sizes{static_cast<std::size_t>(shape.input_elements()) * element,
                         static_cast<std::size_t>(shape.weight_elements()) * element,
                         static_cast<std::size_t>(shape.output_elements()) * element};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, sizes));
  const ConvArray result = conv_result(shape.pass);
  for (std::size_t set = 0; set < options.sets; ++set) {
    for (const ConvArray array : {kConvInput, kConvWeights, kConvOutput}) {
      if (array == result) continue;
      const std::uint64_t seed = array_seed(options.seed, set, array);
      if (shape.dtype == "bf16") fill_random_bf16(memory.array<std::uint16_t>(set, array), seed);
      if (shape.dtype == "f32") fill_random(memory.array<float>(set, array), seed);
    }
  }
  memory.poison(result);
  auto prepared = std::make_unique<ConvOnCpu>(shape, options.seed, std::move(memory));
  WM_TRY(prepared->choose());
  return std::unique_ptr<measure::Prepared>(std::move(prepared));
}

}  // namespace warpmark::workloads
