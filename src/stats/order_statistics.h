// Confidence intervals of quantiles from order statistics: exact for every continuous distribution, as only the ranks
// matter. The number of samples below the quantile p is binomial(n, p), so the interval from the low-th to the high-th
// smallest sample covers the quantile with probability P(low <= B < high).
// Source: David, Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1. Sample sizes: Wilks, Ann. Math. Stat. 12, 1941.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace warpmark::stats {

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

}  // namespace warpmark::stats
