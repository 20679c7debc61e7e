// From the values of two variants to a verdict against the smallest effect that matters. Pure.
//
// Everything is judged on logarithms: what a machine does multiplies a time, so logs are where noise is comparable, and
// the mean of log differences is a ratio. With L = log(1 + effect) and the interval of the log ratio:
//   same          the interval lies inside (-L, L): no difference that matters is left
//   better/worse  p (adjusted) <= alpha, and the estimate is at least L / 2, the middle between "nothing" and "matters"
//   inconclusive  else
// Paired rounds are judged by a test that may be looked at after every round and that bursts and outliers do not blind
// (stats/tests/sequential.h), or by the paired t test where the number of rounds was fixed before; unpaired ones
// by Welch's t test.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/comparison.h"

namespace warpmark::validate {

struct VerdictOptions {
  double effect = 0.01;  ///< ratio, above 0
  double alpha = 0.05;
  bool paired = true;
  bool sequential = true;  ///< paired only
  std::uint64_t seed = 1;  ///< of the bootstrap
  bool explain = true;     ///< why a metric is inconclusive, and what would decide
  /// Paired and sequential: how much each round was disturbed, both variants alike (any scale); empty where unknown.
  std::span<const double> disturbances{};
  /// Rounds that the budget allows in all; 0 where it is unknown.
  std::int64_t affordable_rounds = 0;
};

/// The difference of two variants and how certain it is, before any verdict.
struct Effect {
  std::int64_t n = 0;      ///< rounds; of unpaired variants the smaller number
  double log_ratio = 0;    ///< mean; of a sequential test the pseudo-median
  double mean = 0;         ///< of the log ratios
  double stdev = 0;        ///< of one round's log ratio (of unpaired variants: of one value of A and one of B together)
  double worth_stdev = 0;  ///< with which normal noise would leave this interval: what rounds to come are planned by
  std::optional<Interval> interval;  ///< of the log ratio
  std::optional<double> p;
  std::string undefined;  ///< why there is no ratio; then all else is empty
};

/// `a` and `b` hold one value a round; equally many if paired (a surplus is ignored).
[[nodiscard]] Effect effect_of(std::span<const double> a, std::span<const double> b, const VerdictOptions& options);

/// By a p value, adjusted or not.
[[nodiscard]] Verdict verdict_of(const Effect& effect, double p, Better better, const VerdictOptions& options);

/// Verdicts of all metrics together, Holm-adjusted; fills everything that follows from id, unit, better, a and b.
/// `with_tests` adds the further tests, which cost some milliseconds each.
void judge(std::span<MetricVerdict> metrics, const VerdictOptions& options, bool with_tests = true);

}  // namespace warpmark::validate
