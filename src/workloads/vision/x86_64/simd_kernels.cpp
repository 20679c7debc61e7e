// The vision loops for x86-64, AVX2 and AVX-512, by the target attribute.
#include "workloads/vision/simd_kernels.h"

#include <emmintrin.h>

#include <cstdint>

#include "workloads/vision/constants.h"
#include "workloads/vision/simd_math.h"

namespace warpmark::workloads::vision {
namespace {

#include "workloads/vision/simd_loops.inc"

template <typename Job>
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")]] void run_avx512(const Job& job) {
  apply<true>(job);
}

template <typename Job>
[[gnu::target("avx2,fma")]] void run_avx2(const Job& job) {
  apply<true>(job);
}

template <typename Job>
void run_baseline(const Job& job) {
  apply<false>(job);
}

constexpr SimdKernels kKernels[] = {
    {"avx512", run_avx512, run_avx512, run_avx512, run_avx512, run_avx512, run_avx512, run_avx512, run_avx512},
    {"avx2", run_avx2, run_avx2, run_avx2, run_avx2, run_avx2, run_avx2, run_avx2, run_avx2},
    {"x86-64", run_baseline, run_baseline, run_baseline, run_baseline, run_baseline, run_baseline, run_baseline,
     run_baseline},
};

}  // namespace

std::span<const SimdKernels> simd_kernels() {
  const std::span<const SimdKernels> all = kKernels;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return all.subspan(avx512 ? 0 : avx2 ? 1 : 2);
}

void stream_row(float* to, const float* from, std::size_t count) {
  std::size_t i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(to + i) % 16 != 0; ++i) to[i] = from[i];
  for (; i + 4 <= count; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

void store_fence() { _mm_sfence(); }

}  // namespace warpmark::workloads::vision
