// What a run costs whatever its size, and what each item adds: a straight line through times of runs of several sizes.
// Noise multiplies a time, so squares are weighed by 1 / time^2 (weighted least squares; Draper, Smith, Applied
// Regression Analysis, 3rd ed. 1998, 9.2), with t intervals.
#pragma once

#include <optional>
#include <span>

#include "model/metric.h"

namespace warpmark::stats {

struct SizedTime {
  double items = 0;
  double seconds = 0;
};

struct FixedCost {
  double fixed_s = 0;
  double per_item_s = 0;
  Interval fixed_interval;
  Interval per_item_interval;
  double worst_misfit = 0;  ///< largest |mean time of a size / line - 1|: above 0.2 it is no straight line

  /// Share of a run of so many items that is the fixed cost, in [0, 1].
  [[nodiscard]] double fixed_share(double items) const;
};

/// Absent with fewer than three sizes, and for times that are not above 0.
[[nodiscard]] std::optional<FixedCost> fixed_cost(std::span<const SizedTime> times, double confidence = 0.95);

}  // namespace warpmark::stats
