// Flash attention with 16-byte vectors, which every x86-64 CPU has; f16 is converted in software.
#include "workloads/attention/flash_kernels.h"

#include <immintrin.h>

#include "base/float_types.h"

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(16), may_alias));
using Integers = std::int32_t __attribute__((vector_size(16), may_alias));
constexpr std::size_t kRows = 4;  // 8 sums, 2 columns and a query fit the 16 registers
constexpr std::size_t kColumns = 2;

inline float highest_lane(Vector v) {
  const __m128 half = _mm_max_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
}
inline float sum_of_lanes(Vector v) {
  const __m128 half = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

void widen_f16(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = f16_to_float(from[i]);
}
void narrow_f16(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_f16(from[i]);
}

#include "workloads/attention/flash_kernels.inc"

}  // namespace

extern const FlashKernels kSse2FlashKernels = flash_kernels_named("sse2");

}  // namespace warpmark::workloads
