#include "workloads/attention/flash_kernels.h"

namespace warpmark::workloads {

// One an instruction set, each in a file of its own.
extern const FlashKernels kSse2FlashKernels, kAvx2FlashKernels, kAvx512FlashKernels;

std::span<const FlashKernels* const> flash_kernels() {
  static constexpr const FlashKernels* kAll[] = {&kAvx512FlashKernels, &kAvx2FlashKernels, &kSse2FlashKernels};
  const std::span<const FlashKernels* const> all = kAll;
  if (__builtin_cpu_supports("avx512f")) return all;
  // Every CPU with AVX2 has F16C, which the compiler has no name for here.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return all.subspan(1);
  return all.subspan(2);
}

}  // namespace warpmark::workloads
