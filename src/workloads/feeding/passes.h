// Rounds of work that prepares itself between two timings, such as emptying a cache or starting threads: passes until
// the stopping rule is content.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/round.h"

namespace warpmark::workloads {

/// Seconds of each pass; empty where the user interrupted, and the run is then skipped. `pass` tells its own seconds.
/// Fills warm-up (one pass), timing and how sampling ended.
[[nodiscard]] Result<std::vector<double>> time_passes(const measure::RoundOptions& options, Run& run,
                                                      const std::function<Status(double& seconds)>& pass);

/// The run's error and outcome, and the metric `time` of its passes; false where the result is wrong: `reason` says so,
/// and the run has no speed.
[[nodiscard]] bool record_passes(Run& run, ErrorCheck error, std::string reason, const std::vector<double>& seconds);

void add_samples(Run& run, const char* id, const char* unit, Better better, std::vector<double> samples);
/// A metric `work` / seconds of each pass.
void add_rate(Run& run, const char* id, const char* unit, double work, const std::vector<double>& seconds);

}  // namespace warpmark::workloads
