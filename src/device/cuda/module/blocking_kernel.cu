#include "device/cuda/module/blocking_kernel.h"

namespace warpmark::device {
namespace {

__device__ unsigned long long global_time_ns() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void block_until_released(volatile BlockFlags* flags, unsigned long long timeout_ns) {
  const unsigned long long start = global_time_ns();
  while (flags->release == 0) {
    if (global_time_ns() - start > timeout_ns) {
      flags->timed_out = 1;
      __threadfence_system();
      return;
    }
  }
}

}  // namespace

cudaError_t launch_blocking_kernel(cudaStream_t stream, BlockFlags* device_flags, unsigned long long timeout_ns) {
  block_until_released<<<1, 1, 0, stream>>>(device_flags, timeout_ns);
  return cudaGetLastError();
}

}  // namespace warpmark::device
