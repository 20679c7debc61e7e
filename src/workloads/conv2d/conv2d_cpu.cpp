// conv2d on the CPU: makes the tensors and picks the faster way to feed the kernel.
#include "workloads/conv2d/conv2d_cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "workloads/conv2d/conv2d_check.h"
#include "workloads/conv2d/conv2d_shape.h"
#include "workloads/conv2d/onednn_convolution.h"
#include "workloads/random_inputs.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

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
