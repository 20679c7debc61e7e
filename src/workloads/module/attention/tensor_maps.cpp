#include "workloads/module/attention/tensor_maps.h"

#include <fmt/format.h>

#include <array>

#include "device/cuda/module/cuda_check.h"

namespace warpmark::workloads {
namespace {

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

}  // namespace

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

}  // namespace warpmark::workloads
