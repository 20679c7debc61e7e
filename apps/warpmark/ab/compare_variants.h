// What `warpmark compare` runs: two commands, two settings of a workload or of the project's command, or two revisions
// of the project, each in a worktree of its own.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "measure/experiment.h"
#include "validate/compare/compare_run.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Both variants with everything they need to run.
struct Variants {
  validate::Variant a;
  validate::Variant b;
  std::vector<std::unique_ptr<measure::Experiment>> experiments;
  std::vector<std::unique_ptr<Worktree>> worktrees;
  std::vector<validate::AccuracyGate> accuracy;
  std::vector<std::string> declared;                          ///< names of the project's metrics
  std::vector<std::pair<std::string, std::string>> software;  ///< versions of the frameworks that the commands use
  std::string request;  ///< what identifies the comparison: equal for a repetition of it
};

/// `folder` is for worktrees.
[[nodiscard]] Result<Variants> make_variants(const Context& context, const ParsedOptions& options,
                                             const std::filesystem::path& folder);

}  // namespace warpmark::apps
