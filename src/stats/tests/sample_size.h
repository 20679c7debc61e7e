// How many samples a test needs to find a difference, before any is taken.
#pragma once

#include <cstdint>

namespace warpmark::stats {

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
