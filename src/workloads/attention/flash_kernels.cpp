#include "workloads/attention/flash_kernels.h"

namespace warpmark::workloads {

const FlashKernels& flash_kernels() {
  if (__builtin_cpu_supports("avx512f")) return kAvx512FlashKernels;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    return kAvx2FlashKernels;
  }
  return kSse2FlashKernels;
}

}  // namespace warpmark::workloads
