// Storage formats narrower than float, bit for bit, with round-to-nearest-even. For references and for CPUs without the
// instructions; the timed paths use the hardware's own conversions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace warpmark {

[[nodiscard]] inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[nodiscard]] inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

/// IEEE 754 binary16.
[[nodiscard]] inline float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const int exponent = (bits >> 10) & 0x1F;
  const auto mantissa = static_cast<std::uint32_t>(bits & 0x3FFU);
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(exponent + 112) << 23) | (mantissa << 13));
}

[[nodiscard]] inline std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to infinity
  if (magnitude < 0x1p-14F) {                                                    // subnormal: a multiple of 2^-24
    const auto steps = static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
    return static_cast<std::uint16_t>(sign | steps);
  }
  const std::uint32_t magnitude_bits = bits & 0x7FFFFFFFU;
  const std::uint32_t rounded = magnitude_bits + 0xFFFU + ((magnitude_bits >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

}  // namespace warpmark
