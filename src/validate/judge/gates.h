// Is what became faster still right? A gate is either a metric with a margin (B may be worse than A by less than that:
// non-inferiority), or a command that tells by its exit status whether a run's outputs are right. Pure.
//
// Of a metric the interval of the difference B - A decides, turned so that positive is better, one-sided at alpha:
// accepted where it lies above -margin, rejected where it lies below, else the data cannot tell. Paired rounds that may
// be looked at use the sequential t test (stats/sequential.h), else paired or Welch's t. Source: ICH E9, 1998, 3.3.2;
// Piaggio et al., "Reporting of noninferiority and equivalence randomized trials", JAMA 308, 2012.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/comparison.h"
#include "model/run.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {

struct AccuracyGate {
  std::string metric;                ///< id of the metric; empty for a command
  std::vector<std::string> command;  ///< run after each run, outside of what is timed
  double margin = 0;                 ///< not negative; in the metric's unit, or a ratio of A
  bool relative = false;
};

/// What a command gate's answer is called among a run's metrics: 1 for right, 0 for wrong.
[[nodiscard]] std::string check_metric(std::size_t gate);
[[nodiscard]] bool is_check_metric(const std::string& id);

/// `a` and `b` hold one value a round, equally many if paired; of a command gate one 1 or 0 a run.
[[nodiscard]] AccuracyVerdict judge_accuracy(const AccuracyGate& gate, const Metric& metric, std::span<const double> a,
                                             std::span<const double> b, const VerdictOptions& options);

// Goals for what was measured: "samples_rate>=5000", "gpu_utilization>=85%". Pure.

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
