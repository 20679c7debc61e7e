#include "workloads/module/launch/launch_kernels.h"

namespace warpmark::workloads {
namespace {

__global__ void empty_kernel() {}

}  // namespace

cudaError_t launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
