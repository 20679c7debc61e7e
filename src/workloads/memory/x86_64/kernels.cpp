#include "workloads/memory/kernels.h"

namespace warpmark::workloads {

// One an instruction set, each in a file of its own.
extern const StreamKernels kSse2Kernels, kAvx2Kernels, kAvx512Kernels;

std::span<const StreamKernels* const> stream_kernels() {
  static constexpr const StreamKernels* kAll[] = {&kAvx512Kernels, &kAvx2Kernels, &kSse2Kernels};
  const std::span<const StreamKernels* const> all = kAll;
  if (__builtin_cpu_supports("avx512f")) return all;
  // Every CPU with AVX2 has F16C, which the compiler has no name for here.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return all.subspan(1);
  return all.subspan(2);
}

}  // namespace warpmark::workloads
