#include "analyze/needless/autocast.h"

#include <algorithm>
#include <cstdint>

#include "analyze/names/kernel_names.h"
#include "analyze/needless/fitted.h"

namespace warpmark::analyze {

float bytes_left_in_16_bits(const Timeline& timeline, const WorkList& list) {
  constexpr float kInSingles = 0.5F;
  constexpr std::int64_t kHardlyAny = 20;  // what was in 16 bits before the types mixed
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
  if (xla && single > 0 && half * kHardlyAny < single) return kBytesIn16Bits;
  return convolution > product ? kBytesIn16Bits : 1.0F;
}

float left_when_narrow(std::string_view kernel_name, Category category, float narrower) {
  constexpr float kDoubleBytes = 0.5F;  // of everything else in double precision
  if (works_on_doubles(kernel_name) || is_in_doubles(kernel_name)) return kDoubleBytes;
  const bool half = works_on_16_bits(kernel_name);
  if (category == Category::optimizer || half) return 1.0F;
  return category == Category::attention ? kWideAttention : narrower;
}

bool runs_a_network(const Timeline& timeline, const WorkList& list) {
  const bool has_layers = std::ranges::any_of(list.works, [](const GpuWork& work) {
    return work.category == Category::attention || work.category == Category::softmax ||
           work.category == Category::normalization;
  });
  return has_layers && any_name(timeline.names, is_of_aten);
}

}  // namespace warpmark::analyze
