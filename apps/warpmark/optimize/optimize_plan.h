// Running with a plan, proving one, and listing what could stand in one.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"
#include "warpmark/optimize/optimize_request.h"

namespace warpmark::apps {

/// Becomes the program, with the settings of --apply: its output, its input and its exit code are the program's own.
/// Returns only where it cannot be started.
[[nodiscard]] Result<int> apply_plan(Context& context, const ParsedOptions& options, const OptimizeRequest& request);

/// --prove: the settings against the original.
[[nodiscard]] Result<Optimization> prove_optimization(optimize::ProgramRuns& runs, const OptimizeRequest& request);

/// --list-knobs: one run, then what each knob offers the program.
[[nodiscard]] Result<int> list_knobs(Context& context, const ParsedOptions& options, OptimizeRequest& request);

}  // namespace warpmark::apps
