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
#include "validate/ab_test.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// A checkout of one commit, removed with the object.
class Worktree {
 public:
  /// Usage error if `revision` does not exist or we are not in a repository.
  [[nodiscard]] static Result<std::unique_ptr<Worktree>> create(const std::string& revision,
                                                                const std::filesystem::path& folder);
  Worktree(const Worktree&) = delete;
  Worktree& operator=(const Worktree&) = delete;
  ~Worktree();

  [[nodiscard]] const std::string& commit() const { return commit_; }
  /// Where the project stands in the checkout: our working directory's place in the repository.
  [[nodiscard]] std::string directory() const;

 private:
  Worktree(std::string commit, std::filesystem::path root, std::string prefix)
      : commit_(std::move(commit)), root_(std::move(root)), prefix_(std::move(prefix)) {}
  std::string commit_;
  std::filesystem::path root_;
  std::string prefix_;
};

/// Both arms with everything they need to run.
struct Arms {
  validate::Arm a;
  validate::Arm b;
  std::vector<std::unique_ptr<measure::Experiment>> experiments;
  std::vector<std::unique_ptr<Worktree>> worktrees;
  std::string request;  ///< what identifies the comparison: equal for a repetition of it
};

/// The words behind each `--` of the command line; empty without any.
[[nodiscard]] std::vector<std::vector<std::string>> commands_after_dashes(const std::vector<std::string>& words);

/// `folder` is for worktrees.
[[nodiscard]] Result<Arms> make_arms(const Context& context, const ParsedOptions& options,
                                     const std::filesystem::path& folder);

}  // namespace warpmark::apps
