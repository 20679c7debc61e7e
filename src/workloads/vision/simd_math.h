// Elementary functions as straight-line float code that the compiler turns into vector instructions: no branches, no
// tables, no calls. Coefficients are Chebyshev interpolants on the stated interval; the stated errors are those of
// float evaluation against fp64, found by tests over the interval. `kFma` says whether the caller's target has a fused
// multiply-add.
#pragma once

#include <bit>
#include <cstdint>

namespace warpmark::workloads::vision {

template <bool kFma>
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
  if constexpr (kFma) return __builtin_fmaf(a, b, c);
  return a * b + c;
}

/// Polynomial by Horner's rule, coefficients from the constant term up.
template <bool kFma, typename... Rest>
[[gnu::always_inline]] inline float polynomial(float x, float constant, Rest... rest) {
  if constexpr (sizeof...(rest) == 0)
    return constant;
  else
    return multiply_add<kFma>(polynomial<kFma>(x, rest...), x, constant);
}

/// condition ? yes : no, both already computed; bits, so that no branch is made.
[[gnu::always_inline]] inline float select(bool condition, float yes, float no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(yes) & mask) | (std::bit_cast<std::uint32_t>(no) & ~mask));
}

/// ((c + 0.055) / 1.055)^2.4 on [0.04045, 1], absolute error below 3e-7: degree 11 in c mapped to [-1, 1].
template <bool kFma>
[[gnu::always_inline]] inline float srgb_power(float c) {
  const float x = multiply_add<kFma>(c, 2.08431029F, -1.08431041F);
  return polynomial<kFma>(x, 0.233240917F, 0.466891229F, 0.272590995F, 0.0303172786F, -0.00377749046F, 0.000992530724F,
                          -0.000424846774F, 0.000218087211F, 2.29218967e-05F, -4.77460453e-05F, -8.7062188e-05F,
                          6.32071533e-05F);
}

/// Cube root of t in [1e-30, 1e30], relative error below 4e-7. A first guess of t^(-1/3) to 3.5 % by dividing the
/// exponent (Kahan, "Computing a real cube root", 1991), then y (1 - h)^(-1/3) with h = 1 - t y^3, |h| < 0.103, as a
/// polynomial of degree 4; cbrt(t) = t y^2.
template <bool kFma>
[[gnu::always_inline]] inline float cube_root(float t) {
  const auto bits = static_cast<float>(std::bit_cast<std::int32_t>(t));
  const auto guess = static_cast<std::int32_t>(multiply_add<kFma>(bits, -1.0F / 3.0F, 1419898954.0F));
  const float y = std::bit_cast<float>(guess);
  const float ty2 = t * y * y;
  const float h = multiply_add<kFma>(-ty2, y, 1.0F);
  const float p = polynomial<kFma>(h, 1.0F, 0.333328933F, 0.222215161F, 0.174503312F, 0.145809978F);
  return ty2 * p * p;
}

/// e^x for x in [-80, 80], relative error below 3e-7 + |x| 8e-8: 2^n times a polynomial of degree 6 on [-0.5, 0.5].
template <bool kFma>
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float scaled = x * 1.44269504F;
  const float shifted = scaled + kRound;
  const float fraction = scaled - (shifted - kRound);
  const float power = polynomial<kFma>(fraction, 1.0F, 0.69314718F, 0.240226507F, 0.0555032715F, 0.0096180253F,
                                       0.00134004327F, 0.000154697322F);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) + (std::bit_cast<std::uint32_t>(shifted) << 23));
}

/// tanh(x), absolute error below 3e-7.
template <bool kFma>
[[gnu::always_inline]] inline float hyperbolic_tangent(float x) {
  const float magnitude = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU);
  const float capped = select(magnitude < 12.0F, magnitude, 12.0F);
  const float e = exponential<kFma>(-2.0F * capped);
  const float value = (1.0F - e) / (1.0F + e);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | (std::bit_cast<std::uint32_t>(x) & 0x80000000U));
}

}  // namespace warpmark::workloads::vision
