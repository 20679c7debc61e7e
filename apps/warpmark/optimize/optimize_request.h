// What `warpmark optimize` is asked for: options of the search, the program, and the folders it needs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "optimize/apply/optimize_program.h"
#include "optimize/plan.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The whole training, as far as the user described it.
struct TrainingRequest {
  std::optional<double> steps;
  std::optional<double> price_per_hour;
  OptimizationGoal goal;
};
/// Usage error for a goal without what it is judged by.
[[nodiscard]] Result<TrainingRequest> training_of(const ParsedOptions& options);

struct OptimizeRequest {
  optimize::OptimizeOptions options;
  optimize::Program program;
  optimize::ProgramRuns::Places places;
  std::filesystem::path journal;
  std::string identity;  ///< what a repetition must have in common with an interrupted one
  std::string format = "text";
  TrainingRequest training;
};

/// From the options and the command after `--`. Usage error for what does not fit together.
[[nodiscard]] Result<OptimizeRequest> optimize_request_of(Context& context, const ParsedOptions& options);

/// Where the hook's files stand, with the files; of this version of them.
[[nodiscard]] Result<std::filesystem::path> hook_folder(Context& context, const ParsedOptions& options);

/// A plan.yaml, with patches as absolute paths.
[[nodiscard]] Result<optimize::Plan> load_plan(const std::string& path);

/// ID=VALUE.
[[nodiscard]] Result<optimize::Setting> setting_of(const std::string& text);

}  // namespace warpmark::apps
