// One source a loop, compiled for x86-64, AVX2 and AVX-512 by the target attribute: `run_*<Job>` inlines `apply<kFma>`
// of the job, whose loop is vectorized because of its `omp simd`.
#include "workloads/vision/simd_kernels.h"

#include <emmintrin.h>

#include <cstdint>

#include "workloads/vision/constants.h"
#include "workloads/vision/simd_math.h"

namespace warpmark::workloads::vision {
namespace {

struct Lab {
  float lightness;
  float a;
  float b;
};

template <bool kFma>
[[gnu::always_inline]] inline float linearize(float c) {
  const float small = c * static_cast<float>(1.0 / kSrgbSlope);
  return select(c <= static_cast<float>(kSrgbThreshold), small, srgb_power<kFma>(c));
}

/// One row of RGB to XYZ, over the white's component.
template <int kRow, bool kFma>
[[gnu::always_inline]] inline float xyz_over_white(float r, float g, float b) {
  constexpr auto kRed = static_cast<float>(kRgbToXyz[kRow][0] / kWhite[kRow]);
  constexpr auto kGreen = static_cast<float>(kRgbToXyz[kRow][1] / kWhite[kRow]);
  constexpr auto kBlue = static_cast<float>(kRgbToXyz[kRow][2] / kWhite[kRow]);
  return multiply_add<kFma>(r, kRed, multiply_add<kFma>(g, kGreen, b * kBlue));
}

template <bool kFma>
[[gnu::always_inline]] inline float lab_curve(float t) {
  const float line = multiply_add<kFma>(t, static_cast<float>(kLabSlope), static_cast<float>(kLabOffset));
  return select(t > static_cast<float>(kLabThreshold), cube_root<kFma>(t), line);
}

template <bool kFma>
[[gnu::always_inline]] inline Lab lab_of(float x, float y, float z) {
  const float fx = lab_curve<kFma>(x);
  const float fy = lab_curve<kFma>(y);
  const float fz = lab_curve<kFma>(z);
  return {multiply_add<kFma>(116.0F, fy, -16.0F), 500.0F * (fx - fy), 200.0F * (fy - fz)};
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const LabRow& row) {
  const float* red = row.rgb[0];
  const float* green = row.rgb[1];
  const float* blue = row.rgb[2];
  float* lightness = row.lab[0];
  float* a = row.lab[1];
  float* b = row.lab[2];
#pragma omp simd
  for (std::size_t i = 0; i < row.count; ++i) {
    const float r = linearize<kFma>(red[i]);
    const float g = linearize<kFma>(green[i]);
    const float l = linearize<kFma>(blue[i]);
    const Lab lab = lab_of<kFma>(xyz_over_white<0, kFma>(r, g, l), xyz_over_white<1, kFma>(r, g, l),
                                 xyz_over_white<2, kFma>(r, g, l));
    lightness[i] = lab.lightness;
    a[i] = lab.a;
    b[i] = lab.b;
  }
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const LightnessRow& row) {
  const float* red = row.rgb[0];
  const float* green = row.rgb[1];
  const float* blue = row.rgb[2];
  float* lightness = row.lightness;
#pragma omp simd
  for (std::size_t i = 0; i < row.count; ++i) {
    const float y =
        xyz_over_white<1, kFma>(linearize<kFma>(red[i]), linearize<kFma>(green[i]), linearize<kFma>(blue[i]));
    lightness[i] = multiply_add<kFma>(116.0F, lab_curve<kFma>(y), -16.0F);
  }
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const SobelRow& row) {
  const float* above = row.above;
  const float* here = row.here;
  const float* below = row.below;
  float* gradient_x = row.gradient_x;
  float* gradient_y = row.gradient_y;
  const auto count = static_cast<std::ptrdiff_t>(row.count);
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const float left = above[i - 1] + 2.0F * here[i - 1] + below[i - 1];
    const float right = above[i + 1] + 2.0F * here[i + 1] + below[i + 1];
    const float top = above[i - 1] + 2.0F * above[i] + above[i + 1];
    const float bottom = below[i - 1] + 2.0F * below[i] + below[i + 1];
    gradient_x[i] = right - left;
    gradient_y[i] = bottom - top;
  }
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const LinearizeRow& row) {
  const float* encoded = row.encoded;
  float* linear = row.linear;
#pragma omp simd
  for (std::size_t i = 0; i < row.count; ++i) linear[i] = linearize<kFma>(encoded[i]);
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const XyzRow& row) {
  const float* red = row.linear[0];
  const float* green = row.linear[1];
  const float* blue = row.linear[2];
  float* x = row.xyz[0];
  float* y = row.xyz[1];
  float* z = row.xyz[2];
#pragma omp simd
  for (std::size_t i = 0; i < row.count; ++i) {
    x[i] = xyz_over_white<0, kFma>(red[i], green[i], blue[i]);
    y[i] = xyz_over_white<1, kFma>(red[i], green[i], blue[i]);
    z[i] = xyz_over_white<2, kFma>(red[i], green[i], blue[i]);
  }
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const LabFromXyzRow& row) {
  const float* x = row.xyz[0];
  const float* y = row.xyz[1];
  const float* z = row.xyz[2];
  float* lightness = row.lab[0];
  float* a = row.lab[1];
  float* b = row.lab[2];
#pragma omp simd
  for (std::size_t i = 0; i < row.count; ++i) {
    const Lab lab = lab_of<kFma>(x[i], y[i], z[i]);
    lightness[i] = lab.lightness;
    a[i] = lab.a;
    b[i] = lab.b;
  }
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const MomentsRow& row) {
  const float* values = row.values;
  const auto count = static_cast<double>(row.count);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < row.count; ++i) sum += static_cast<double>(values[i]);
  const double mean = sum / count;
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::size_t i = 0; i < row.count; ++i) {
    const double distance = static_cast<double>(values[i]) - mean;
    squares += distance * distance;
  }
  *row.mean = mean;
  *row.variance = squares / count;
}

/// tanh(w_pair . z + b_pair)
template <int kPair, bool kFma>
[[gnu::always_inline]] inline float tension(float z0, float z1, float z2) {
  constexpr auto kFirst = static_cast<float>(kTensionWeights[kPair][0]);
  constexpr auto kSecond = static_cast<float>(kTensionWeights[kPair][1]);
  constexpr auto kThird = static_cast<float>(kTensionWeights[kPair][2]);
  constexpr auto kBias = static_cast<float>(kTensionBias[kPair]);
  return hyperbolic_tangent<kFma>(
      multiply_add<kFma>(z0, kFirst, multiply_add<kFma>(z1, kSecond, multiply_add<kFma>(z2, kThird, kBias))));
}

/// e^|t|
template <bool kFma>
[[gnu::always_inline]] inline float softmax_weight(float t) {
  return exponential<kFma>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(t) & 0x7FFFFFFFU));
}

template <bool kFma>
[[gnu::always_inline]] inline void apply(const RelevanceRow& row) {
  const float* first = row.scores[0];
  const float* second = row.scores[1];
  const float* third = row.scores[2];
  float* relevance = row.relevance;
  const float mean0 = row.mean[0];
  const float mean1 = row.mean[1];
  const float mean2 = row.mean[2];
  const float scale0 = row.scale[0];
  const float scale1 = row.scale[1];
  const float scale2 = row.scale[2];
#pragma omp simd
  for (std::size_t i = 0; i < row.count; ++i) {
    const float z0 = (first[i] - mean0) * scale0;
    const float z1 = (second[i] - mean1) * scale1;
    const float z2 = (third[i] - mean2) * scale2;
    const float t0 = tension<0, kFma>(z0, z1, z2);
    const float t1 = tension<1, kFma>(z0, z1, z2);
    const float t2 = tension<2, kFma>(z0, z1, z2);
    const float e0 = softmax_weight<kFma>(t0);
    const float e1 = softmax_weight<kFma>(t1);
    const float e2 = softmax_weight<kFma>(t2);
    relevance[i] = multiply_add<kFma>(e0, t0, multiply_add<kFma>(e1, t1, e2 * t2)) / (e0 + e1 + e2);
  }
}

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
