// Phases of a step, from windows of their own: how many steps they get, and how their sum compares with the step that
// was timed without marks.
#pragma once

#include <cstdint>

#include "model/run.h"
#include "workloads/models/model_workers.h"

namespace warpmark::workloads {

struct PhaseSteps {
  double step_s = 0;       ///< of a step, about
  double room_s = 0;       ///< that they may take
  std::int64_t least = 1;  ///< whatever they take
  std::int64_t most = 1;   ///< that the worker has room to note
};

/// As many as a p99 of each phase takes (299), where there is time for them. Pure.
[[nodiscard]] std::int64_t phase_steps(const PhaseSteps& wanted);

/// Metrics phase.* and phases_ratio of a run whose first metric is `time`, and a note where their sum is another than
/// the spread of the timed windows explains. Pure.
void add_phases(ModelPhases phases, Run& run);

}  // namespace warpmark::workloads
