// How many steps a run of a test measures: as many as its power needs. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace warpmark::optimize {

struct WindowLength {
  std::int64_t steps = 0;
  double error = 0;  ///< relative standard error of their mean
};

/// From the times of steps that were seen: so many that the steps within a run blur their mean by a quarter of
/// `effect`. Two such means, over the dozen rounds of a test, then differ by a tenth of it: what is left is how runs
/// differ, which no longer run can mend. Between `least_s` and `most_s` in all, and at least kFewestTimedSteps.
[[nodiscard]] WindowLength window_length(std::span<const double> step_s, double effect, double least_s, double most_s);

inline constexpr std::int64_t kFewestTimedSteps = 20;  ///< of the original; a cure may make them a fifth as long

}  // namespace warpmark::optimize
