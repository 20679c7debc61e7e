// The plain gate: one file of results against another, by their values alone. It knows nothing of noise and says so.
#pragma once

#include <string>

#include "base/result.h"
#include "model/check.h"
#include "model/run.h"

namespace warpmark::validate {

struct PointOptions {
  std::string name;     ///< of the baseline, for people
  std::string metrics;  ///< glob, see matches_series; empty for all
  double threshold = 0.05;
};

/// Worse: a median is worse by the threshold or more. What only the baseline has is named as missing, and that the
/// machines differ as a disturbance. Usage error where nothing is in both.
[[nodiscard]] Result<Check> check_point_values(const Session& baseline, const Session& now,
                                               const PointOptions& options);

}  // namespace warpmark::validate
