// sRGB to CIELAB in float with the special function unit: powers and cube roots are 2^(e log2 x), whose error (about
// 1e-6) is below the workload's tolerance.
#pragma once

#include "workloads/vision/constants.h"

namespace warpmark::workloads::vision {

/// x^exponent for normal x > 0: two instructions of the special function unit and a multiplication.
__device__ __forceinline__ float fast_power(float x, float exponent) {
  float logarithm;
  float power;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(x));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(logarithm * exponent));
  return power;
}

__device__ __forceinline__ float linear_from_srgb(float c) {
  constexpr auto kScale = static_cast<float>(1.0 / (1.0 + kSrgbOffset));
  constexpr auto kShift = static_cast<float>(kSrgbOffset / (1.0 + kSrgbOffset));
  const float curve = fast_power(fmaf(c, kScale, kShift), static_cast<float>(kSrgbExponent));
  return c <= static_cast<float>(kSrgbThreshold) ? c * static_cast<float>(1.0 / kSrgbSlope) : curve;
}

template <int kRow>
__device__ __forceinline__ float xyz_over_white(float r, float g, float b) {
  constexpr auto kRed = static_cast<float>(kRgbToXyz[kRow][0] / kWhite[kRow]);
  constexpr auto kGreen = static_cast<float>(kRgbToXyz[kRow][1] / kWhite[kRow]);
  constexpr auto kBlue = static_cast<float>(kRgbToXyz[kRow][2] / kWhite[kRow]);
  return fmaf(r, kRed, fmaf(g, kGreen, b * kBlue));
}

__device__ __forceinline__ float lab_curve(float t) {
  const float line = fmaf(t, static_cast<float>(kLabSlope), static_cast<float>(kLabOffset));
  return t > static_cast<float>(kLabThreshold) ? fast_power(t, 1.0F / 3.0F) : line;
}

__device__ __forceinline__ float lightness_of(float fy) { return fmaf(116.0F, fy, -16.0F); }

}  // namespace warpmark::workloads::vision
