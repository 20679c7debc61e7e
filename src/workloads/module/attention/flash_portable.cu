#include "workloads/module/attention/flash_portable.cuh"

namespace warpmark::workloads {
namespace {

template <typename Shape>
cudaError_t launch(const AttentionArguments& arguments, cudaStream_t stream) {
  const auto kernel = portable::flash_portable<Shape>;
  // Dynamic shared memory above 48 KiB has to be asked for; the attribute is per device, so it is set at every launch.
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::shared_bytes);
  if (error != cudaSuccess) return error;
  const int row_tiles = (arguments.sequence + Shape::rows - 1) / Shape::rows;
  kernel<<<arguments.matrices * row_tiles, Shape::threads, Shape::shared_bytes, stream>>>(arguments);
  return cudaGetLastError();
}

template <typename T, bool kCausal>
cudaError_t launch_dimension(const AttentionArguments& arguments, cudaStream_t stream) {
  if (arguments.dimension == 64) return launch<portable::FlashShape<T, 64, 4, 2, 64, kCausal>>(arguments, stream);
  if (arguments.dimension == 128) return launch<portable::FlashShape<T, 128, 4, 2, 32, kCausal>>(arguments, stream);
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t launch_flash_portable(AttentionType type, const AttentionArguments& arguments, cudaStream_t stream) {
  if (type == AttentionType::f16) {
    return arguments.causal ? launch_dimension<__half, true>(arguments, stream)
                            : launch_dimension<__half, false>(arguments, stream);
  }
  return arguments.causal ? launch_dimension<__nv_bfloat16, true>(arguments, stream)
                          : launch_dimension<__nv_bfloat16, false>(arguments, stream);
}

}  // namespace warpmark::workloads
