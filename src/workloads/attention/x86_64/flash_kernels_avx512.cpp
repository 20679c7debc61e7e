// Flash attention with 64-byte vectors. The instruction set holds for this file alone: nothing inline from a shared
// header may be compiled under it, as the linker could keep that copy for CPUs without it.
#include "workloads/attention/flash_kernels.h"

#include <immintrin.h>

#pragma GCC target("avx512f,fma,f16c")  // NOLINT(clang-diagnostic-unknown-pragmas): it is GCC that compiles this

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(64), may_alias));
using Integers = std::int32_t __attribute__((vector_size(64), may_alias));
constexpr std::size_t kRows = 6;  // 24 sums, 4 columns and a query fit the 32 registers
constexpr std::size_t kColumns = 4;

// The zero-masked forms with all lanes on: the plain ones name an undefined register, of which GCC 12 warns.
template <int kIndex>
inline __m256 half_of(Vector v) {
  return _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xF, _mm512_castps_pd(v), kIndex));
}
inline float highest_lane(Vector v) {
  const __m256 half = _mm256_max_ps(half_of<0>(v), half_of<1>(v));
  __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}
inline float sum_of_lanes(Vector v) {
  const __m256 half = _mm256_add_ps(half_of<0>(v), half_of<1>(v));
  __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}

void widen_f16(const std::uint16_t* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xFFFF, halves));
  }
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

void narrow_f16(const float* from, std::uint16_t* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i halves = _mm512_maskz_cvtps_ph(0xFFFF, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), halves);
  }
  for (; i < count; ++i) to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

#include "workloads/attention/flash_kernels.inc"

}  // namespace

extern const FlashKernels kAvx512FlashKernels = flash_kernels_named("avx512f");

}  // namespace warpmark::workloads
