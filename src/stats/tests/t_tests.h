// Student's t in its forms: one sample and pairs, Welch's two samples (Biometrika 34, 1947); and
// equivalence by two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). Ratios are tested by giving
// logarithms.
#pragma once

#include <cstdint>
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

struct PowerOptions {
  double alpha = 0.05;  ///< two-sided
  double power = 0.9;   ///< chance of finding a difference that is there
};

/// The fewest pairs with which the paired t test finds a mean difference `effect` in differences of this standard
/// deviation: exact for normal differences, by the noncentral t distribution. `most` if more are needed.
[[nodiscard]] std::int64_t pairs_needed(double stdev, double effect, std::int64_t most,
                                        const PowerOptions& options = {});

/// Power of the two-sided paired t test with n >= 2 pairs.
[[nodiscard]] double paired_power(std::int64_t n, double stdev, double effect, double alpha);

}  // namespace warpmark::stats
