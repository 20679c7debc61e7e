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
  std::optional<std::int64_t> steps;
  std::optional<double> price_per_hour;
  OptimizationGoal goal;
};
/// Usage error for a goal without what it is judged by.
[[nodiscard]] Status check_training(const TrainingRequest& training);

/// Of whole runs.
struct QualityRequest {
  std::string gate, command, answers, reference;
  std::vector<std::string> checks;
};

struct OptimizeRequest {
  optimize::OptimizeOptions options{.budget_s = 300};
  std::optional<std::int64_t> start_ahead;
  std::optional<double> budget_money;
  std::string knobs, patch;     ///< files
  std::string applied, proven;  ///< a plan.yaml each
  std::string commits, metric;  ///< of the report on the history
  QualityRequest quality;
  bool lists_knobs = false;
  bool copies = false;
  bool fresh = false;
  bool stores = true;
  optimize::Program program;
  optimize::ProgramRuns::Places places;
  std::filesystem::path journal;
  std::string identity;  ///< what a repetition must have in common with an interrupted one
  std::string format = "text";
  TrainingRequest training;
};

/// Completes what the options say by the command after `--`. Usage error for what does not fit together.
[[nodiscard]] Status complete_request(Context& context, const ParsedOptions& options, OptimizeRequest& request);

/// Where the hook's files stand, with the files; of this version of them.
[[nodiscard]] Result<std::filesystem::path> hook_folder(Context& context, const ParsedOptions& options);

/// A plan.yaml, with patches as absolute paths.
[[nodiscard]] Result<optimize::Plan> load_plan(const std::string& path);

/// "3x", or "3".
[[nodiscard]] Result<double> parse_speedup(const std::string& text);

/// ID=VALUE.
[[nodiscard]] Result<optimize::Setting> setting_of(const std::string& text);

}  // namespace warpmark::apps
