// Student's t in its forms: one sample and pairs, Welch's two samples (Biometrika 34, 1947); and
// equivalence by two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). Ratios are tested by giving
// logarithms.
#pragma once

#include <span>

#include "model/metric.h"

namespace warpmark::stats {

struct TTest {
  double estimate = 0;        ///< mean, mean of the differences, or difference of the means
  double standard_error = 0;  ///< 0 where all values are equal; t is then 0 or infinite, and p 1 or 0
  double t = 0;
  double degrees = 0;
  double p = 1;       ///< two-sided
  Interval interval;  ///< of the estimate
};

/// Mean of at least two values against 0.
[[nodiscard]] TTest one_sample_t(std::span<const double> values, double confidence = 0.95);

/// mean(second - first) of pairs; equally many, at least two.
[[nodiscard]] TTest paired_t(std::span<const double> first, std::span<const double> second, double confidence = 0.95);

/// mean(second) - mean(first) without assuming equal variances; at least two values each.
[[nodiscard]] TTest welch_t(std::span<const double> first, std::span<const double> second, double confidence = 0.95);

/// p of the claim low < true value < high: the larger of the two one-sided p. At most alpha exactly where the
/// interval of confidence 1 - 2 alpha lies inside (low, high).
[[nodiscard]] double equivalence_p(const TTest& test, double low, double high);

}  // namespace warpmark::stats
