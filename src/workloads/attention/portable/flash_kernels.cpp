// Flash attention for processors without kernels of their own: 16-byte vectors, which the compiler maps to what there
// is; f16 is converted in software.
#include "workloads/attention/flash_kernels.h"

#include "base/float_types.h"

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(16), may_alias));
using Integers = std::int32_t __attribute__((vector_size(16), may_alias));
constexpr std::size_t kRows = 6;  // 12 sums, 2 columns and a query: half of the 32 registers of an Armv8 processor
constexpr std::size_t kColumns = 2;

inline float highest_lane(Vector v) {
  const float low = v[0] > v[1] ? v[0] : v[1];
  const float high = v[2] > v[3] ? v[2] : v[3];
  return low > high ? low : high;
}
inline float sum_of_lanes(Vector v) { return (v[0] + v[2]) + (v[1] + v[3]); }

void widen_f16(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = f16_to_float(from[i]);
}
void narrow_f16(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_f16(from[i]);
}

#include "workloads/attention/flash_kernels.inc"

constexpr FlashKernels kVectorKernels = flash_kernels_named("16-byte vectors");

}  // namespace

std::span<const FlashKernels* const> flash_kernels() {
  static constexpr const FlashKernels* kAll[] = {&kVectorKernels};
  return kAll;
}

}  // namespace warpmark::workloads
