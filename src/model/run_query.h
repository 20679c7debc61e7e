// Questions that many readers of a Run ask.
#pragma once

#include <algorithm>
#include <string_view>

#include "model/run.h"

namespace warpmark {

/// Ran, and its output is not wrong: it has numbers, if perhaps disturbed ones.
[[nodiscard]] constexpr bool is_measured(Outcome outcome) {
  return outcome == Outcome::passed || outcome == Outcome::unreliable;
}

/// nullptr if the run has no such metric or no samples of it.
[[nodiscard]] inline const Metric* metric_of(const Run& run, std::string_view id) {
  const auto found = std::find_if(run.metrics.begin(), run.metrics.end(),
                                  [&](const Metric& metric) { return metric.id == id && metric.summary.n > 0; });
  return found == run.metrics.end() ? nullptr : &*found;
}

/// Whether two runs measured the same: one case, at another time.
[[nodiscard]] inline bool same_case(const Run& a, const Run& b) {
  return a.workload == b.workload && a.device == b.device && a.mode == b.mode && a.params == b.params;
}

/// The note of a run that shares its name with others of its file: "2 of 3".
inline constexpr const char* kTwinNote = "of this name";

/// The text of a note; empty if the run has none of that name.
[[nodiscard]] inline std::string_view note_text(const Run& run, std::string_view name) {
  for (const auto& [key, text] : run.notes) {
    if (key == name) return text;
  }
  return {};
}

/// Where people think of a computation and no longer of moving data, for work that does not say which it is.
inline constexpr double kComputeIntensity = 8;  // FLOP/B

/// The metric that tells how fast a run is: a property of the work, the same on every machine and under every peak.
[[nodiscard]] inline std::string_view rate_of(const Run& run) {
  if (!run.cost.rate.empty()) return run.cost.rate;
  return run.cost.flops > 0 && run.cost.flops >= kComputeIntensity * run.cost.bytes ? "flop_rate" : "bandwidth";
}

/// Whether a metric says something of its own: all that somebody declared for a command and all of a load do, of all
/// else the primary one, from which rates follow and beside which other tools give summaries.
[[nodiscard]] inline bool speaks_for_itself(const Run& run, const Metric& metric) {
  return run.workload == "command" || run.workload == "serving" || metric.id == run.metrics.front().id;
}

}  // namespace warpmark
