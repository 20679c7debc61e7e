// Flash attention with 32-byte vectors. The instruction set holds for this file alone: nothing inline from a shared
// header may be compiled under it, as the linker could keep that copy for CPUs without it.
#include "workloads/attention/flash_kernels.h"

#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")  // NOLINT(clang-diagnostic-unknown-pragmas): it is GCC that compiles this

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(32), may_alias));
using Integers = std::int32_t __attribute__((vector_size(32), may_alias));
constexpr std::size_t kRows = 6;  // 12 sums, 2 columns and a query fit the 16 registers
constexpr std::size_t kColumns = 2;

inline float highest_lane(Vector v) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
inline float sum_of_lanes(Vector v) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

void widen_f16(const std::uint16_t* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

void narrow_f16(const float* from, std::uint16_t* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < count; ++i) to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

#include "workloads/attention/flash_kernels.inc"

}  // namespace

extern const FlashKernels kAvx2FlashKernels = flash_kernels_named("avx2");

}  // namespace warpmark::workloads
