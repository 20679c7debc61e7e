// Does a series creep? A straight line through values in the order they were taken, which no outlier can tilt: the
// median of all pairwise slopes (Sen, J. Am. Stat. Assoc. 63, 1968), with the interval of Kendall's test of no trend.
// Values that resemble the ones before them make that interval too narrow: its variance is inflated by the
// autocorrelation of the residuals (Hamed, Rao, J. Hydrology 204, 1998, lag 1 alone).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/metric.h"

namespace warpmark::stats {

struct Drift {
  std::int64_t n = 0;
  double slope = 0;   ///< a step from one value to the next
  Interval interval;  ///< of the slope
  double p = 1;       ///< two-sided, of "no trend"; normal approximation
  double level = 0;   ///< of the line at the first value
};

inline constexpr std::int64_t kFewestForDrift = 10;

/// Absent of fewer than kFewestForDrift values, and of values that are not finite. O(n^2): at most 3,000 values count,
/// the newest.
[[nodiscard]] std::optional<Drift> drift_of(std::span<const double> values, double confidence = 0.95);

/// Whether a straight line tells a series better than levels that change at `breaks` (Schwarz's criterion, Ann. Stat.
/// 6, 1978, on squared residuals): a creep cut into steps by a search for steps. `breaks` are indices of values that
/// begin a new level, in order.
[[nodiscard]] bool creeps_rather_than_steps(std::span<const double> values, std::span<const std::int64_t> breaks);

}  // namespace warpmark::stats
