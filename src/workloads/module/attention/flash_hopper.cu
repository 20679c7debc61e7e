#include <algorithm>

#include "workloads/module/attention/flash_hopper.cuh"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads {
namespace {

template <typename T, int kDimension, bool kCausal>
struct Chosen;
template <typename T, bool kCausal>
struct Chosen<T, 64, kCausal> {
  using Shape = hopper::FlashShape<T, 64, 3, 128, 2, kCausal>;
};
template <typename T, bool kCausal>
struct Chosen<T, 128, kCausal> {
  using Shape = hopper::FlashShape<T, 128, 2, 128, 2, kCausal>;
};

struct Request {
  const AttentionArguments& arguments;
  const HopperMaps& maps;
  int multiprocessors;
  cudaStream_t stream;
};

template <typename Shape>
cudaError_t launch(const Request& request) {
  const AttentionArguments& arguments = request.arguments;
  const auto kernel = hopper::flash_hopper<Shape>;
  constexpr int kBytes = sizeof(hopper::FlashStorage<Shape>);
  // The attribute is per device, so it is set at every launch; it costs well under a microsecond.
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const hopper::FlashArguments flash{.output = arguments.output,
                                     .sequence = arguments.sequence,
                                     .matrices = arguments.matrices,
                                     .row_tiles = (arguments.sequence + Shape::rows - 1) / Shape::rows,
                                     .group = hopper::group_size<Shape>(arguments.sequence),
                                     .scale_log2 = arguments.scale_log2};
  const int tiles = flash.matrices * flash.row_tiles;
  // Equal tiles: as many blocks as fit, each walking over tiles, so that loads of the next overlap stores of the last.
  // Causal tiles differ in length: one block a tile leaves the balance to the hardware.
  const int blocks = Shape::causal ? tiles : std::min(tiles, request.multiprocessors);
  kernel<<<blocks, Shape::threads, kBytes, request.stream>>>(request.maps.query, request.maps.key, request.maps.value,
                                                             flash);
  return cudaGetLastError();
}

template <typename T, bool kCausal>
cudaError_t launch_dimension(const Request& request) {
  if (request.arguments.dimension == 64) return launch<typename Chosen<T, 64, kCausal>::Shape>(request);
  if (request.arguments.dimension == 128) return launch<typename Chosen<T, 128, kCausal>::Shape>(request);
  return cudaErrorInvalidValue;
}

template <typename T>
cudaError_t launch_type(const Request& request) {
  return request.arguments.causal ? launch_dimension<T, true>(request) : launch_dimension<T, false>(request);
}

template <typename Shape>
constexpr HopperBoxes boxes() {
  return {.query_rows = Shape::rows, .key_rows = Shape::keys};
}

}  // namespace

HopperBoxes flash_hopper_boxes(int dimension, bool causal) {
  if (dimension == 64) {
    return causal ? boxes<Chosen<__half, 64, true>::Shape>() : boxes<Chosen<__half, 64, false>::Shape>();
  }
  return causal ? boxes<Chosen<__half, 128, true>::Shape>() : boxes<Chosen<__half, 128, false>::Shape>();
}

cudaError_t launch_flash_hopper(AttentionType type, const AttentionArguments& arguments, const HopperMaps& maps,
                                int multiprocessors, cudaStream_t stream) {
  const Request request{arguments, maps, multiprocessors, stream};
  return type == AttentionType::f16 ? launch_type<__half>(request) : launch_type<__nv_bfloat16>(request);
}

}  // namespace warpmark::workloads
