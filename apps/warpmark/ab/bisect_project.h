// What `warpmark bisect` measures: a project's commits, each built in a worktree of its own; and what it remembers.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "validate/commands/command_experiment.h"
#include "validate/compare/compare_run.h"
#include "validate/guard/bisect.h"
#include "validate/guard/bisect_run.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Worktrees go with the object; those that a killed process left in `folder` are taken over.
class ProjectRevisions final : public validate::Revisions {
 public:
  ProjectRevisions(Context& context, validate::CommandSpec spec, std::vector<Commit> commits,
                   std::filesystem::path folder)
      : context_(context), spec_(std::move(spec)), commits_(std::move(commits)), folder_(std::move(folder)) {}
  Result<measure::Experiment*> prepare(std::size_t index) override;

 private:
  struct Built {
    std::unique_ptr<Worktree> tree;
    std::unique_ptr<validate::CommandExperiment> experiment;
    std::optional<Error> failure;
  };
  Context& context_;
  validate::CommandSpec spec_;
  std::vector<Commit> commits_;
  std::filesystem::path folder_;
  std::map<std::size_t, Built> built_;
};

/// A folder with a journal a step and a file a skipped commit. Held by one process at a time.
class FolderLog final : public validate::BisectLog {
 public:
  /// With `fresh` what is there is removed. Environment error if another process holds it or it cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<FolderLog>> open(std::filesystem::path folder, std::string identity,
                                                               bool fresh);
  Result<std::vector<validate::AbSample>> begin(const std::string& step) override;
  Status append(const validate::AbSample& sample) override;
  Result<std::optional<std::string>> skipped(const std::string& sha) override;
  Status skip(const std::string& sha, const std::string& reason) override;

  /// Runs found so far.
  [[nodiscard]] std::size_t known() const { return known_; }
  /// The bisection is over: removes the folder.
  void remove();

 private:
  FolderLog(std::filesystem::path folder, std::string identity, validate::Journal lock)
      : folder_(std::move(folder)), identity_(std::move(identity)), lock_(std::move(lock)) {}
  std::filesystem::path folder_;
  std::string identity_;
  validate::Journal lock_;
  std::optional<validate::Journal> step_;
  std::size_t known_ = 0;
};

/// Stored results of the range's commits: of this machine, this command (or `name`, as of `run --name`) and this
/// metric, without uncommitted changes. None without a database.
[[nodiscard]] Result<std::vector<validate::CommitResult>> history_of(const Context& context,
                                                                     const ParsedOptions& options,
                                                                     const validate::CommandSpec& spec,
                                                                     const std::vector<Commit>& commits,
                                                                     const Machine& machine);

}  // namespace warpmark::apps
