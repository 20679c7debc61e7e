#include "workloads/memory/kernels.h"

namespace warpmark::workloads {

const StreamKernels& stream_kernels() {
  if (__builtin_cpu_supports("avx512f")) return kAvx512Kernels;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2Kernels;
  return kSse2Kernels;
}

}  // namespace warpmark::workloads
