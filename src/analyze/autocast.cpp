#include "analyze/autocast.h"

#include <cstdint>

namespace warpmark::analyze {

float bytes_left_in_16_bits(const Timeline& timeline, const WorkList& list) {
  constexpr float kHalfTheBytes = 0.55F;
  constexpr float kInSingles = 0.5F;
  std::int64_t convolution = 0, product = 0, half = 0, single = 0, wide = 0;
  bool xla = false;
  for (const GpuWork& work : list.works) {
    const std::int64_t length = work.end - work.start;
    if (work.category == Category::convolution && work.math != MatrixMath::none) convolution += length;
    if (work.category == Category::gemm) product += length;
    if (work.math == MatrixMath::tensor_half) half += length;
    if (work.math == MatrixMath::tensor_tf32 || work.math == MatrixMath::simt_fp32) single += length;
    if (work.math == MatrixMath::simt_fp64) wide += length;
    xla = xla || is_xla_fusion(timeline.name_of(work.event));
  }
  if (wide > 0 && single + half == 0) return kInSingles;
  if (xla && single > 0 && half == 0) return kHalfTheBytes;
  return convolution > product ? kHalfTheBytes : 1.0F;
}

}  // namespace warpmark::analyze
