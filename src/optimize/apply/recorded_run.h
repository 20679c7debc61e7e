// Runs that are recorded: their plan, the traces that they leave, analyzed, and what was found as the journal keeps it.
#pragma once

#include <filesystem>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "optimize/apply/program_runs.h"

namespace warpmark::optimize {

/// A run of a few steps under PyTorch's profiler, as `run` but for that.
[[nodiscard]] RunOptions recorded_run(RunOptions run, bool stacks);

/// What the recording found, into the facts; a sentence for the log.
[[nodiscard]] std::string add_found(const ProgramRun& recorded, ProgramFacts& facts);

/// Of all traces in the folder. A recording that cannot be read says so in "problem": the search goes on without.
[[nodiscard]] Json analyze_traces(const std::filesystem::path& folder);

/// Where a recorded run leaves its traces; removed with the object.
class TraceFolder {
 public:
  explicit TraceFolder(std::filesystem::path folder);
  ~TraceFolder();
  TraceFolder(TraceFolder&&) = delete;
  TraceFolder& operator=(TraceFolder&&) = delete;
  /// Makes it and names it in the plan, where that records. Environment error if it cannot be made.
  [[nodiscard]] Status prepare(workers::HookPlan& plan) const;
  /// As "analysis", where something was to be recorded.
  void add_analysis(Json& answer) const;

 private:
  std::filesystem::path folder_;
};

/// What analyze_traces wrote, into the run.
void put_findings(const Json& json, ProgramRun& run);

}  // namespace warpmark::optimize
