// opponent_balance on the GPU: one kernel. The check computes the relevance in fp64 on the CPU and splits the tokens
// anew from the relevance that the kernel put out.
#include <fmt/format.h>

#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/vision/vision_inputs.h"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;
using vision::BalanceShape;

class BalanceOnGpu final : public measure::Prepared {
 public:
  explicit BalanceOnGpu(const measure::PrepareOptions& options)
      : device_(options.device), shape_(vision::balance_shape(options.params)) {}

  Status create(const measure::PrepareOptions& options) {
    const double set_bytes = 4.0 * 5.0 * static_cast<double>(shape_.patches());
    WM_TRY(require_memory(device_,
                          {.sets = options.sets, .set_bytes = set_bytes - static_cast<double>(options.given_bytes())}));
    for (std::size_t i = 0; i < options.sets; ++i) WM_TRY(add_set(options));
    return poison();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    WM_CUDA(vision::launch_opponent_balance(cuda_stream(stream), shape_, sets_[set].buffers));
    return {};
  }

  Status poison() override {
    for (const Set& set : sets_) {
      WM_TRY(workloads::poison(device_.stream(), set.relevance));
      WM_TRY(workloads::poison(device_.stream(), set.tokens));
    }
    return device_.synchronize();
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override { return sets_[set].relevance.span(); }

  Result<ErrorCheck> check(std::size_t index) override {
    const Set& set = sets_[index];
    WM_ASSIGN(const auto scores, vision::download<float>(device_, set.scores));
    WM_ASSIGN(const auto relevance, vision::download<float>(device_, set.relevance));
    WM_ASSIGN(const auto tokens, vision::download<std::int32_t>(device_, set.tokens));
    return vision::balance_check(shape_, {.scores = scores, .relevance_out = relevance, .tokens_out = tokens});
  }

 private:
  struct Set {
    DeviceArray scores;
    DeviceArray relevance;
    DeviceArray tokens;
    vision::BalanceBuffers buffers{};
  };

  Status add_set(const measure::PrepareOptions& options) {
    const std::size_t index = sets_.size();
    const auto patches = static_cast<std::int64_t>(shape_.patches());
    Set& set = sets_.emplace_back();
    WM_ASSIGN(set.scores, DeviceArray::given_or_made(device_, options.given, index, vision::kPerspectives * patches,
                                                     ElementType::f32));
    WM_ASSIGN(set.relevance, DeviceArray::make(device_, patches, ElementType::f32));
    WM_ASSIGN(set.tokens, DeviceArray::make(device_, patches, ElementType::int32));
    set.buffers = {.scores = set.scores.as<float>(),
                   .relevance = set.relevance.as<float>(),
                   .tokens = set.tokens.as<std::int32_t>()};
    if (!options.given.empty()) return {};
    std::vector<float> scores(vision::kPerspectives * shape_.patches());
    vision::fill_perspectives(scores, static_cast<std::size_t>(shape_.n), vision::array_seed(options.seed, index, 0));
    return vision::upload(device_, set.scores, std::as_bytes(std::span(scores)));
  }

  device::Device& device_;
  BalanceShape shape_;
  std::vector<Set> sets_;
};

device::Support supports_opponent_balance(const DeviceInfo& /*device*/, const Params& params) {
  const BalanceShape shape = vision::balance_shape(params);
  if (shape.n > vision::kMaxPatchesOnGpu) {
    return device::Support::no(fmt::format("n={} is above {}, the patches that one block keeps in registers", shape.n,
                                           vision::kMaxPatchesOnGpu),
                               fmt::format("set n to {} or less, or use --device cpu", vision::kMaxPatchesOnGpu));
  }
  if (shape.batch > INT32_MAX) {
    return device::Support::no(fmt::format("batch={} is more blocks than one launch can have", shape.batch),
                               "choose a smaller batch");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaOpponentBalance{"opponent_balance", supports_opponent_balance,
                                                     prepare_created<BalanceOnGpu>};

}  // namespace warpmark::workloads
