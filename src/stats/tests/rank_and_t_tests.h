// Tests and shifts by ranks, which no outlier can move: Mann-Whitney U (Ann. Math. Stat. 18, 1947) with the
// Hodges-Lehmann shift (Ann. Math. Stat. 34, 1963) for two samples, Wilcoxon's signed ranks with the pseudo-median for
// pairs.
//
// Small samples are tested exactly, ties included: equal values share the mean of their ranks, and the distribution is
// that of all assignments of the ranks at hand to the sides (or signs), counted by dynamic programming. Large ones by
// the normal approximation with the tie correction of the variance and a continuity correction of 1/2 (Hollander,
// Wolfe, Chicken, Nonparametric Statistical Methods, 3rd ed. 2014, sections 3.1, 4.1, 4.2).
#pragma once

#include <cstdint>
#include <span>

#include "model/metric.h"

namespace warpmark::stats {

enum class RankMethod { automatic, exact, normal };

struct RankTest {
  double statistic = 0;  ///< U of the first sample; sum of the ranks of positive differences
  double p = 1;          ///< two-sided: twice the smaller tail, at most 1
  bool exact = false;
};

/// The largest number of values that are tested exactly: together, and pairs.
inline constexpr std::size_t kExactValues = 50;

/// Whether one side tends to be larger. Both need a value; equal values only give p = 1.
[[nodiscard]] RankTest mann_whitney(std::span<const double> first, std::span<const double> second,
                                    RankMethod method = RankMethod::automatic);

/// Whether differences are symmetric about 0. Differences of 0 are left out (Wilcoxon); none left give p = 1.
[[nodiscard]] RankTest wilcoxon_signed_rank(std::span<const double> differences,
                                            RankMethod method = RankMethod::automatic);

struct Shift {
  double estimate = 0;
  Interval interval;  ///< confidence is the one asked for; what ranks can reach is at least that, or all differences
};

/// Median of all second[j] - first[i], with the interval that belongs to Mann-Whitney. O(nm) memory: at most a few
/// thousand values a side.
[[nodiscard]] Shift hodges_lehmann(std::span<const double> first, std::span<const double> second,
                                   double confidence = 0.95);

/// Median of all pairwise means (differences[i] + differences[j]) / 2, i <= j, with the interval that belongs to the
/// signed ranks.
[[nodiscard]] Shift pseudo_median(std::span<const double> differences, double confidence = 0.95);

// Student's t in its forms: one sample and pairs, Welch's two samples (Biometrika 34, 1947); and
// equivalence by two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). Ratios are tested by giving
// logarithms.

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
