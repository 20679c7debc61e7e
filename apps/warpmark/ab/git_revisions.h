// Revisions of the user's repository: names, ranges, and checkouts of their own. Nothing of the user's is changed: no
// branch, no HEAD, no index, no file; a checkout is a git worktree in a folder of ours, made without hooks.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/bisection.h"
#include "validate/guard/series.h"

namespace warpmark::apps {

/// Usage error outside of a git repository.
[[nodiscard]] Status check_repository();

/// The commit that `revision` names. Usage error if there is none or we are not in a repository.
[[nodiscard]] Result<Commit> find_commit(const std::string& revision);

/// A commit and all that it descends from, by their hashes. Usage error as for find_commit.
[[nodiscard]] Result<std::set<std::string>> ancestors_of(const std::string& revision);

/// The commits of `revision`, or of HEAD where there is no such revision; empty outside of a repository.
[[nodiscard]] validate::CommitOrder order_of_commits(const std::string& revision);

/// A commit and all that it descends from; empty where it is no commit of this repository.
[[nodiscard]] validate::CommitOrder ancestry_of(const std::string& commit);

/// Those of the commits that this repository has; of a shallow clone the newest. Nothing outside of a repository.
[[nodiscard]] std::optional<std::set<std::string>> commits_here(const std::set<std::string>& commits);

/// The good commit, then those after it on the first-parent line of the bad one that contain it, oldest first; the bad
/// one is the last. A merged branch is one step. Usage error unless the bad commit descends from the good one.
[[nodiscard]] Result<std::vector<Commit>> first_parent_range(const std::string& good, const std::string& bad);

/// Checks a commit out into `folder`, replacing what is there, as a repository of its own that borrows the objects of
/// the user's and is not known to it.
[[nodiscard]] Status check_out_apart(const std::string& sha, const std::filesystem::path& folder);

/// Where the project stands in a checkout in `folder`: our working directory's place in the repository.
[[nodiscard]] Result<std::string> project_place(const std::filesystem::path& folder);

/// The folder of the user's repository. Usage error outside of one.
[[nodiscard]] Result<std::string> repository_folder();

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
  /// A checkout that a killed process left may be taken over once it says that it was built.
  [[nodiscard]] bool built() const;
  [[nodiscard]] Status mark_built() const;

 private:
  Worktree(std::string commit, std::filesystem::path root, std::string prefix)
      : commit_(std::move(commit)), root_(std::move(root)), prefix_(std::move(prefix)) {}
  [[nodiscard]] std::filesystem::path mark() const;
  std::string commit_;
  std::filesystem::path root_;
  std::string prefix_;
  int lock_ = -1;  ///< on the checkout's folder, as long as this process uses it
};

/// Removes the checkouts in `folder` called worktree-* that a killed process left: those that no process holds.
void remove_abandoned_worktrees(const std::filesystem::path& folder);

}  // namespace warpmark::apps
