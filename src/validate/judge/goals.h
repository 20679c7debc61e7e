// Goals for what was measured: "samples_rate>=5000", "gpu_utilization>=85%". Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/run.h"

namespace warpmark::validate {

struct Goal {
  std::string text;    ///< as given
  std::string metric;  ///< id
  bool at_least = true;
  double value = 0;       ///< in the base unit: s, B, B/s, ...; a percentage is a ratio
  std::string unit = {};  ///< that was given; empty: that of the metric
};

/// METRIC>=VALUE or METRIC<=VALUE, with a unit or % for ratios. Usage error for anything else.
[[nodiscard]] Result<Goal> parse_goal(const std::string& text);

/// A goal and the median of one run that has its metric.
struct GoalRow {
  Goal goal;
  std::string workload;
  std::string device;
  double median = 0;
  std::string unit;  ///< of the metric
  bool met = false;
};

/// Of every run that was measured, in order. Usage error for a goal whose metric no run has, or has in another unit.
[[nodiscard]] Result<std::vector<GoalRow>> judge_goals(std::span<const Goal> goals, std::span<const Run> runs);

}  // namespace warpmark::validate
