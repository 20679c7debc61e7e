// What the samples of a metric support saying: exact order-statistic intervals, robust and classical spread,
// percentiles only where there are enough samples. docs/metrics.md tells what each number means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark::stats {

/// All of Summary. The samples, in the order taken and in any unit, must be finite (a NaN is our own bug); none give a
/// Summary of zeros. Sorts a copy: about 1.3 ms for 10 000 samples. Pure, any thread.
///   mean, stdev     two passes, Bessel's n-1; stdev is 0 for one sample
///   cv              0 where the mean is 0
///   autocorrelation lag 1; absent below 3 samples or where all are equal
///   percentiles     p90, p95, p99, interpolated as in quantile_of_sorted; without value but with a reason where the
///                   sample has no two-sided order-statistic interval
///   outliers        |x - median| > 14.826 MAD, ten standard deviations of normal noise. Where MAD is 0 (more than half
///                   of the samples are equal, as with a coarse timer) the scale is the mean absolute deviation
///                   instead: |x - median| > 12.533 mean|x - median| (Iglewicz, Hoaglin, How to Detect and Handle
///                   Outliers, 1993)
[[nodiscard]] Summary summarize(std::span<const double> samples, double confidence = 0.95);

/// Median, or 0 without samples. O(n).
[[nodiscard]] double median(std::span<const double> samples);

/// The narrowest symmetric order-statistic interval of the median; absent if there are too few samples for this
/// confidence. O(n) with a copy: 0.2 ms for 10 000 samples.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> samples, double confidence = 0.95);

/// Median and its interval while samples arrive, for a stopping rule that asks after every sample: add() moves at most
/// n doubles (1 us at n = 10 000), median() and interval() (about 1.5 us) hardly depend on n. One thread.
class RunningMedian {
 public:
  void add(double sample);
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(sorted_.size()); }
  /// 0 without samples.
  [[nodiscard]] double median() const;
  [[nodiscard]] std::optional<Interval> interval(double confidence = 0.95) const;
  void clear() { sorted_.clear(); }

 private:
  std::vector<double> sorted_;
};

// Count, mean and squared deviations of some values: what the t tests and the summaries start from. Pure.

struct Moments {
  double n = 0;
  double mean = 0;
  double squares = 0;  ///< sum of squared deviations from the mean
  [[nodiscard]] double variance() const { return squares / (n - 1); }
};

/// Two passes and a correction for the rounding of the mean (Chan, Golub, LeVeque, Am. Stat. 37, 1983). All 0 of
/// nothing.
[[nodiscard]] Moments moments_of(std::span<const double> values);

/// 0 of nothing.
[[nodiscard]] double mean_of(std::span<const double> values);

/// Absent of nothing, and unless all values are finite and above 0.
[[nodiscard]] std::optional<double> geometric_mean(std::span<const double> values);

// Confidence intervals of quantiles from order statistics: exact for every continuous distribution, as only the ranks
// matter. The number of samples below the quantile p is binomial(n, p), so the interval from the low-th to the high-th
// smallest sample covers the quantile with probability P(low <= B < high).
// Source: David, Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1. Sample sizes: Wilks, Ann. Math. Stat. 12, 1941.

/// Ranks are 1-based: 1 is the smallest sample, n the largest.
struct RankInterval {
  std::int64_t low = 0;
  std::int64_t high = 0;
  double confidence = 0;  ///< reached, at least what was asked for
  friend bool operator==(const RankInterval&, const RankInterval&) = default;
};

/// The narrowest interval [k, n+1-k] that covers the median with at least `confidence` (in (0, 1)); absent if n is too
/// small (n < 6 at 95 %). About a microsecond.
[[nodiscard]] std::optional<RankInterval> median_ranks(std::int64_t n, double confidence);

/// The interval of fewest ranks that covers the p-quantile (p in (0, 1)) with at least `confidence`; the two tails may
/// differ. Absent if n < samples_needed(p, confidence). Takes O(sqrt(n)).
[[nodiscard]] std::optional<RankInterval> quantile_ranks(std::int64_t n, double p, double confidence);

/// The smallest n for which quantile_ranks exists: 1 - p^n - (1-p)^n >= confidence. 6 for the median, 29, 59 and 299
/// for p90, p95 and p99 at 95 %.
[[nodiscard]] std::int64_t samples_needed(double p, double confidence);

/// Quantile by linear interpolation between order statistics (type 7 of Hyndman, Fan, Am. Stat. 50 (1996); the default
/// of R and NumPy). `sorted` ascending and not empty, p in [0, 1].
[[nodiscard]] double quantile_of_sorted(std::span<const double> sorted, double p);

// Samples as a metric with what they support saying.

/// Samples of one round, or of rounds with these sizes, with their summary (stats/summary.h). Pure, any thread.
[[nodiscard]] Metric sampled_metric(std::string id, std::string unit, Better better, std::vector<double> samples,
                                    std::vector<std::int64_t> round_sizes = {});

/// The same with a round for each sample.
[[nodiscard]] Metric metric_of_rounds(std::string id, std::string unit, Better better, std::vector<double> samples);

}  // namespace warpmark::stats
