// Fixed numbers of the vision workloads; docs/workloads.md states the formulas they belong to.
#pragma once

#include <cstdint>

namespace warpmark::workloads::vision {

// sRGB transfer and primaries: IEC 61966-2-1:1999. c <= threshold: c / 12.92, else ((c + 0.055) / 1.055)^2.4.
inline constexpr double kSrgbThreshold = 0.04045;
inline constexpr double kSrgbSlope = 12.92;
inline constexpr double kSrgbOffset = 0.055;
inline constexpr double kSrgbExponent = 2.4;
inline constexpr double kRgbToXyz[3][3] = {
    {0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
// White is the XYZ of R = G = B = 1, that is D65 as the standard's own matrix has it: grey is exactly a* = b* = 0.
inline constexpr double kWhite[3] = {0.9505, 1.0000, 1.0890};

// CIELAB: CIE 15:2004, 8.2.1. f(t) = cbrt(t) for t > delta^3, else t / (3 delta^2) + 4 / 29, with delta = 6 / 29.
inline constexpr double kLabDelta = 6.0 / 29.0;
inline constexpr double kLabThreshold = kLabDelta * kLabDelta * kLabDelta;
inline constexpr double kLabSlope = 1.0 / (3.0 * kLabDelta * kLabDelta);
inline constexpr double kLabOffset = 4.0 / 29.0;

// Opponent pairs: rows compress/particularize, exploit/explore, focus/diversify; columns propositional, perspectival,
// participatory. A positive tension leans to the first of the pair. Chosen so that the rows differ and tanh is seldom
// saturated (each row's norm is about 0.8).
inline constexpr int kPerspectives = 3;
inline constexpr int kOpponentPairs = 3;
inline constexpr double kTensionWeights[kOpponentPairs][kPerspectives] = {
    {0.6, -0.5, 0.2}, {0.3, 0.6, -0.4}, {-0.2, 0.4, 0.7}};
inline constexpr double kTensionBias[kOpponentPairs] = {0.1, -0.05, 0.0};
inline constexpr double kVarianceEpsilon = 1e-6;  ///< z = (s - mean) / sqrt(variance + epsilon)

// Levels of detail: tokens a patch.
inline constexpr std::int64_t kMinTokens = 64;
inline constexpr std::int64_t kMaxTokens = 400;
inline constexpr std::int64_t kExtraTokens = kMaxTokens - kMinTokens;
inline constexpr float kShareScale = 1048576.0F;  ///< 2^20: relevance -1 .. 1 becomes an integer share 1 .. 2^21 + 1

/// Integer share of a relevance in [-1, 1]. r + 1 is one float rounding and the scaling is exact, so every IEEE machine
/// gets the same integer, with or without a fused multiply-add.
[[nodiscard]] constexpr std::int64_t token_share(float relevance) {
  return 1 + static_cast<std::int64_t>((relevance + 1.0F) * kShareScale);
}

}  // namespace warpmark::workloads::vision
