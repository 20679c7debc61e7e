// An optimization that a person made, as the report of a search shows one: each commit with its own speedup, the
// cumulative one, memory, and what the whole training takes. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/optimization.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// A commit that was measured.
struct MeasuredCommit {
  std::string sha;
  std::string subject;
  std::vector<double> seconds;         ///< one value per session; of a single session one per round
  std::optional<double> memory_bytes;  ///< most of it
};

struct HistoryOptions {
  double effect = 0.01;  ///< smallest speedup that counts as one
  double alpha = 0.05;
  std::string unit = "step";  ///< what the seconds are of: Optimization::unit
};

/// `commits`: oldest first; the first is the baseline. Speedups are ratios of geometric means with Welch's interval of
/// the logarithms (validate/judge/verdict.h). Usage error of fewer than two commits.
[[nodiscard]] Result<Optimization> optimization_of(std::span<const MeasuredCommit> commits,
                                                   const HistoryOptions& options);

}  // namespace warpmark::optimize
