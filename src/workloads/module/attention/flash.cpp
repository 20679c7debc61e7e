// impl=flash: our own fused kernels.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "device/cuda/module/cuda_check.h"
#include "device/cuda/module/cuda_device.h"
#include "workloads/module/attention/implementation.h"
#include "workloads/module/attention/tensor_maps.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

class FlashAttention final : public AttentionImplementation {
 public:
  explicit FlashAttention(const AttentionInputs& inputs)
      : type_(inputs.problem.type), multiprocessors_(inputs.device.info().compute_units) {
    const AttentionProblem& problem = inputs.problem;
    for (const AttentionSet& set : inputs.sets) {
      arguments_.push_back({.query = set.query.data(),
                            .key = set.key.data(),
                            .value = set.value.data(),
                            .output = set.output.data(),
                            .sequence = static_cast<int>(problem.sequence),
                            .dimension = static_cast<int>(problem.dimension),
                            .matrices = static_cast<int>(problem.matrices()),
                            .causal = problem.causal,
                            .scale_log2 = problem.scale_log2()});
    }
  }

  /// Needed for the Hopper kernel only.
  Status make_maps(const AttentionInputs& inputs) {
    const AttentionProblem& problem = inputs.problem;
    const HopperBoxes boxes = flash_hopper_boxes(static_cast<int>(problem.dimension), problem.causal);
    const auto map = [&](const DeviceArray& array, int rows) {
      return make_tensor_map({.data = array.data(),
                              .type = problem.type,
                              .dimension = problem.dimension,
                              .sequence = problem.sequence,
                              .matrices = problem.matrices(),
                              .box_rows = rows});
    };
    for (const AttentionSet& set : inputs.sets) {
      HopperMaps maps{};
      WM_ASSIGN(maps.query, map(set.query, boxes.query_rows));
      WM_ASSIGN(maps.key, map(set.key, boxes.key_rows));
      WM_ASSIGN(maps.value, map(set.value, boxes.key_rows));
      maps_.push_back(maps);
    }
    return {};
  }

  Status launch(device::Stream stream, std::size_t set) override {
    if (type_ == AttentionType::f32) {
      WM_CUDA(launch_flash_f32(arguments_[set], cuda_stream(stream)));
    } else if (!maps_.empty()) {
      WM_CUDA(launch_flash_hopper(type_, arguments_[set], maps_[set], multiprocessors_, cuda_stream(stream)));
    } else {
      WM_CUDA(launch_flash_portable(type_, arguments_[set], cuda_stream(stream)));
    }
    return {};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    const char* kernel = type_ == AttentionType::f32 ? "f32 on the FMA units"
                         : !maps_.empty()            ? "wgmma, sm_90a"
                                                     : "mma.sync, sm_80 and newer";
    return {{"kernel", kernel}};
  }

 private:
  AttentionType type_;
  int multiprocessors_;
  std::vector<AttentionArguments> arguments_;  ///< one a set
  std::vector<HopperMaps> maps_;               ///< one a set, where the Hopper kernel runs
};

}  // namespace

float AttentionProblem::scale_log2() const {
  return static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(dimension)));
}

MadeAttention make_flash_attention(const AttentionInputs& inputs) {
  auto flash = std::make_unique<FlashAttention>(inputs);
  if (inputs.device.info().architecture == "sm_90" && inputs.problem.type != AttentionType::f32) {
    WM_TRY(flash->make_maps(inputs));
  }
  return MadeAttention(std::move(flash));
}

}  // namespace warpmark::workloads
