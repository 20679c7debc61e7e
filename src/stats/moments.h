// Count, mean and squared deviations of some values: what the t tests and the summaries start from. Pure.
#pragma once

#include <optional>
#include <span>

namespace warpmark::stats {

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

}  // namespace warpmark::stats
