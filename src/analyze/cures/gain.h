// A speed-up foretold, as the interval that such ones turned out to lie in.
#pragma once

#include <string>

#include "model/finding.h"

namespace warpmark::analyze {

/// Calibration::small where ranks wait for one another: of 41 pairs foretold to gain below 1.6 lay 31 within half the
/// spread, 33 within this share, which is as often as larger gains do.
inline constexpr double kSmallOfRanks = 0.65;

/// How far the first recommendation goes and how well that was foretold, measured on before/after pairs
/// (docs/results/, "How often the analysis is right"; bench/score_analysis.py prints both).
struct Calibration {
  double removed = 1.0;   ///< of what `change` removes: 0 nothing, 1 all
  double bias = 0.0;      ///< middle of ln(measured / foretold) of the pairs
  double spread = 0.345;  ///< of ln(measured / foretold) about the bias: most of the pairs lie within
  /// Of the spread where next to nothing is foretold, growing to all of it at a gain of exp(1 - this): 19 of 20 pairs
  /// foretold to gain below 1.22 were off by less than 0.18, 60 from there to 2.7 by less than 0.24, 85 of larger gains
  /// by 0.3 in most cases.
  double small = 0.5;
};

inline constexpr double kWidestGain = 1.995;  ///< of high to low

/// A speed-up foretold and how well such ones were, as an interval. high / low is below 2; small gains are narrower, as
/// an error scales with what is removed.
[[nodiscard]] Gain gain_around(double foretold, const Calibration& calibration, std::string method);
/// Brings an interval into shape: ordered, at least 0.9, high / low below 2 around its middle.
[[nodiscard]] Gain shaped(double low, double high, std::string method);

}  // namespace warpmark::analyze
