#include "workloads/attention/flash_kernels.h"

namespace warpmark::workloads {

const FlashKernels& flash_kernels() {
  if (__builtin_cpu_supports("avx512f")) return kAvx512FlashKernels;
  // Every CPU with AVX2 has F16C, which the compiler has no name for here.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2FlashKernels;
  return kSse2FlashKernels;
}

}  // namespace warpmark::workloads
