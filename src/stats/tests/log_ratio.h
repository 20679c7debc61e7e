// Ratios from their logarithms, on which everything is judged. An interval of few and wild values can be wider than
// numbers are: what would be infinite is 1e300, which says as much and can be written.
#pragma once

#include <algorithm>
#include <cmath>

namespace warpmark::stats {

inline constexpr double kLargestLog = 690;  // 10^299.7

[[nodiscard]] inline double ratio_of_log(double log) { return std::exp(std::clamp(log, -kLargestLog, kLargestLog)); }

/// The ratio less 1, exact near 0.
[[nodiscard]] inline double change_of_log(double log) { return std::expm1(std::clamp(log, -kLargestLog, kLargestLog)); }

}  // namespace warpmark::stats
