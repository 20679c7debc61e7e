// The traces that a recorded run left, analyzed; and what was found as the journal keeps it.
#pragma once

#include <filesystem>

#include "base/json_fwd.h"
#include "base/result.h"
#include "optimize/apply/program_runs.h"

namespace warpmark::optimize {

/// Of all traces in the folder. A recording that cannot be read says so in "problem": the search goes on without.
[[nodiscard]] Json analyze_traces(const std::filesystem::path& folder);

/// What analyze_traces wrote, into the run.
void put_findings(const Json& json, ProgramRun& run);

}  // namespace warpmark::optimize
