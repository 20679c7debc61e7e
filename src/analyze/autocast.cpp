#include "analyze/autocast.h"

#include <cstdint>

namespace warpmark::analyze {

float bytes_left_in_16_bits(const WorkList& list) {
  constexpr float kHalfTheBytes = 0.55F;
  std::int64_t convolution = 0;
  std::int64_t product = 0;
  for (const GpuWork& work : list.works) {
    const std::int64_t length = work.end - work.start;
    if (work.category == Category::convolution && work.math != MatrixMath::none) convolution += length;
    if (work.category == Category::gemm) product += length;
  }
  return convolution > product ? kHalfTheBytes : 1.0F;
}

}  // namespace warpmark::analyze
