// impl=flash: our own fused kernels.
#include <cuda.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/result.h"
#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/module/attention/implementation.h"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads {
namespace {

struct TensorMapOptions {
  const void* data;  ///< at least 16-byte aligned
  AttentionType type;
  std::int64_t dimension, sequence, matrices;
  int box_rows;
};

struct Encoder {
  decltype(&cuTensorMapEncodeTiled) encode;
};

/// The driver's function, found at run time: the module does not link the driver.
Result<Encoder> find_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  WM_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    return environment_error("the CUDA driver has no cuTensorMapEncodeTiled", "update the driver to 525 or newer");
  }
  return Encoder{reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)};
}

/// How the Hopper kernel's copies see a [matrices, sequence, dim] array of 16-bit elements.
/// Boxes of box_rows rows and 64 columns in the 128-byte swizzle; rows beyond the sequence read as zero. Environment
/// error if the driver does not know tensor maps or refuses this one.
Result<CUtensorMap> make_tensor_map(const TensorMapOptions& options) {
  WM_ASSIGN(const Encoder encoder, find_encoder());
  const auto dimension = static_cast<cuuint64_t>(options.dimension);
  const auto sequence = static_cast<cuuint64_t>(options.sequence);
  const std::array<cuuint64_t, 3> sizes{dimension, sequence, static_cast<cuuint64_t>(options.matrices)};
  const std::array<cuuint64_t, 2> strides{dimension * 2, sequence * dimension * 2};  // bytes
  const std::array<cuuint32_t, 3> box{64, static_cast<cuuint32_t>(options.box_rows), 1};
  const std::array<cuuint32_t, 3> steps{1, 1, 1};
  const auto type =
      options.type == AttentionType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  CUtensorMap map{};
  const CUresult result =
      encoder.encode(&map, type, 3, const_cast<void*>(options.data), sizes.data(), strides.data(), box.data(),
                     steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return environment_error(fmt::format("cuTensorMapEncodeTiled: driver error {} for a [{}, {}, {}] tensor",
                                         static_cast<int>(result), options.matrices, options.sequence,
                                         options.dimension));
  }
  return map;
}

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
