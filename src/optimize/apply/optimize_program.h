// From a program to its optimization: the probe, the search, the report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/finding.h"
#include "model/optimization.h"
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
  double window_s = 0;            ///< measured steps of a fresh process last about so long; 0: 2 s ...
  std::int64_t window_steps = 0;  ///< ... or are so many
  double amortize_steps = 0;
  bool in_process = true;        ///< settings that can be switched are tested in one living process
  std::int64_t start_ahead = 4;  ///< runs of a test that start at once, where program and memory allow it
  QualityOptions quality;
  std::vector<Finding> findings;  ///< of an analysis of the program, made before
  std::function<void(const std::string&)> log;
};

/// What the probe found.
struct FirstProbe {
  ProgramFacts facts;
  ProgramRun first;  ///< what ran
  RunOptions run;    ///< for what follows: what times are of, how long a run may take
  double memory_bytes = 0;
  double host_bytes = 0;  ///< largest resident set of its processes
  std::optional<double> gpu_utilization, joules_per_step;
  std::int64_t most_steps = 0;  ///< that a window can have: the program ends then; 0: not known
  std::string note;             ///< why only the time of the whole run can be measured; else empty
};

/// Data error where the program fails by itself.
[[nodiscard]] Result<FirstProbe> inspect(ProgramRuns& runs, const OptimizeOptions& options);

/// Without identity, machine and build. Interrupted, or out of its budget, it is not complete.
[[nodiscard]] Result<Optimization> optimize_program(ProgramRuns& runs, const OptimizeOptions& options);

/// The settings of a plan against the original, and nothing else: for `validate`.
[[nodiscard]] Result<Optimization> prove_plan(ProgramRuns& runs, const Settings& plan, const OptimizeOptions& options);

}  // namespace warpmark::optimize
