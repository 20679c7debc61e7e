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

#include "model/comparison.h"
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

}  // namespace warpmark::validate
