// The whole way: a first look at the program, repeated baselines, the search, the journey.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/journey.h"
#include "optimize/apply/program_runs.h"
#include "optimize/apply/quality_gate.h"
#include "optimize/proposals.h"

namespace warpmark::optimize {

struct OptimizeOptions {
  ProposalOptions proposals;
  double effect = 0.01;
  double alpha = 0.05;
  std::int64_t rounds = 12;
  std::uint64_t seed = 1;
  double budget_s = 0;  ///< for the runs; 0 is without limit
  double loss_margin = 0.02;
  double deadline_s = 1800;       ///< of one run
  double window_s = 0;            ///< measured steps of a run last about so long; 0: as the test needs, 1 to 10 s ...
  std::int64_t window_steps = 0;  ///< ... or are so many
  double amortize_steps = 0;
  bool screens_within = true;    ///< TrialOptions::screens_within
  std::int64_t start_ahead = 1;  ///< runs of a test that start at once, where program and memory allow it
  QualityOptions quality;
  std::function<void(const std::string&)> log;
};

/// A first look alone, for --list-knobs.
struct FirstLook {
  ProgramFacts facts;
  RunOptions run;         ///< for what follows: how many steps, what times are of
  double host_bytes = 0;  ///< largest resident set of its processes
  std::optional<double> gpu_utilization, joules_per_step;
  std::int64_t most_steps = 0;  ///< that a window can have: the program ends then; 0: not known
  std::string window;           ///< how long runs are, and what that tells; empty: whole runs
  std::string note;             ///< why only the time of the whole run can be measured; else empty
};

/// Data error where the program fails by itself.
[[nodiscard]] Result<FirstLook> look_at(ProgramRuns& runs, const OptimizeOptions& options);

/// Without identity, machine and build. Interrupted, or out of its budget, it is not complete.
[[nodiscard]] Result<Journey> optimize_program(ProgramRuns& runs, const OptimizeOptions& options);

/// The settings of a plan against the original, and nothing else: for `validate`.
[[nodiscard]] Result<Journey> prove_plan(ProgramRuns& runs, const Settings& plan, const OptimizeOptions& options);

}  // namespace warpmark::optimize
