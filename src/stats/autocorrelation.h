// Steps in series whose values resemble the ones before them: AR(1) noise around a level. Both functions whiten the
// series, v(i) - rho v(i - 1), after which least squares are the right thing for any length of series; the usual
// correction, which multiplies the variance of a mean by (1 + rho) / (1 - rho), is true of long ones only and leaves
// those of 15 values next to no degrees of freedom.
#pragma once

#include <cstdint>
#include <span>

namespace warpmark::stats {

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
