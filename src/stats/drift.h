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

// Steps in series whose values resemble the ones before them: AR(1) noise around a level. Both functions whiten the
// series, v(i) - rho v(i - 1), after which least squares are the right thing for any length of series; the usual
// correction, which multiplies the variance of a mean by (1 + rho) / (1 - rho), is true of long ones only and leaves
// those of 15 values next to no degrees of freedom.

/// The largest lag-1 autocorrelation that such noise may well have: the upper limit, with one-sided confidence of 90 %,
/// of the restricted likelihood, which takes into account that the level of every segment is estimated from the same
/// values (Cheang, Reinsel, J. Am. Stat. Assoc. 95, 2000): it is all but unbiased in short series. `breaks` are, in
/// order, indices of values that begin a new level; no value is compared with one of another level. In [0, 0.95].
[[nodiscard]] double largest_rho(std::span<const double> series, std::span<const std::int64_t> breaks);

/// Two-sided p of a step between the values before `index` and those from there on, both at least one, under AR(1)
/// noise with this rho in [0, 1): Student's t of generalised least squares, Student's two-sample test at rho 0. 1 of
/// less than three values.
[[nodiscard]] double step_p(std::span<const double> values, std::int64_t index, double rho);

}  // namespace warpmark::stats
