#include "workloads/memory/kernels.h"

#include "workloads/memory/x86_64/kernels_x86_64.h"

namespace warpmark::workloads {

std::span<const StreamKernels* const> stream_kernels() {
  static constexpr const StreamKernels* kAll[] = {&kAvx512Kernels, &kAvx2Kernels, &kSse2Kernels};
  const std::span<const StreamKernels* const> all = kAll;
  if (__builtin_cpu_supports("avx512f")) return all;
  // Every CPU with AVX2 has F16C, which the compiler has no name for here.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return all.subspan(1);
  return all.subspan(2);
}

}  // namespace warpmark::workloads
