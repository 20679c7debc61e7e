// A history of a user's command: each configuration is measured in rounds, every round a fresh run of the experiment,
// and becomes one Run with all samples of all its metrics. Rounds of the configurations alternate in random order, so
// that a drift of the machine meets all of them alike.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "measure/experiment.h"
#include "model/run.h"

namespace warpmark::validate {

/// What is measured, and what names its series in the history: runs with the same params belong together.
struct CommandCase {
  measure::Config config;
  Params params;
};

struct CommandRunOptions {
  std::int64_t rounds = 10;
  std::int64_t warmup_runs = 1;  ///< of each configuration, discarded
  double budget_s = 0;           ///< no round starts after it; 0 is without limit
  std::uint64_t seed = 1;        ///< of the order
  const std::atomic<bool>* interrupted = nullptr;
};

/// A Status that fails ends the measurement.
struct CommandRunEvents {
  std::function<Status(const Run& round, std::int64_t number)> round_done;
  std::function<Status(const Run& run)> run_done;
  std::function<void(std::int64_t rounds, std::int64_t of)> progress;
  std::function<double()> clock_s;  ///< seconds from any origin; the monotonic clock if empty
};

/// Appends a Run for each of `cases` to session.runs, with ids after session.id. A case that fails becomes a
/// Run with the outcome "error" and the reason; the others go on. session.complete tells that nobody interrupted it;
/// cases that were not finished then have a Run of what there is, without run_done. Errors are those of the
/// events.
[[nodiscard]] Status measure_command_runs(measure::Experiment& experiment, std::span<const CommandCase> cases,
                                          const CommandRunOptions& options, const CommandRunEvents& events,
                                          Session& session);

/// One Run of all rounds, at least one. Metrics keep every sample; readings are the medians over the rounds, and
/// throttling in more than a quarter of them makes the run unreliable.
[[nodiscard]] Run merge_command_rounds(std::span<const Run> rounds);

}  // namespace warpmark::validate
