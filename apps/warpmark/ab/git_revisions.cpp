#include "warpmark/ab/git_revisions.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

constexpr const char* kFormat = "--format=%H%x1f%an%x1f%cI%x1f%P%x1f%s";

Result<std::string> git(std::vector<std::string> words) {
  // A hook of the user's (post-checkout) is meant for the user's own checkouts.
  words.insert(words.begin(), {"git", "-c", "core.hooksPath=/dev/null"});
  WM_ASSIGN(const auto output, run_process(words, {.deadline_s = 300}));
  const std::string& verb = words[3] == "-C" ? words[5] : words[3];
  if (output.exit_code != 0) return usage_error("git " + verb + " failed: " + std::string(trim(output.err)));
  return std::string(trim(output.out));
}

Result<Commit> commit_of(const std::string& line) {
  const auto fields = split(line, '\x1f');
  if (fields.size() < 4) return data_error("git log printed '" + line + "'");
  const auto parents = split(fields[3], ' ');
  return Commit{.sha = fields[0],
                .author = fields[1],
                .date = fields[2],
                .subject = fields.size() > 4 ? fields[4] : "",
                .merged = parents.size() > 1 ? parents[1] : ""};
}

/// A lock that the kernel takes away however its holder ends; -1 if another process has it.
int lock_folder(const std::filesystem::path& folder) {
  const int lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  if (lock >= 0) ::close(lock);
  return -1;
}

/// What CI fetches is often the last commit alone.
std::string where_to_look() {
  const auto shallow = git({"rev-parse", "--is-shallow-repository"});
  if (!shallow.ok() || *shallow != "true") return "`git log` shows what there is";
  return "this clone has only the newest commits: git fetch --unshallow --tags, or fetch-depth: 0 in CI";
}

/// Submodules of the checkout, from those that the user has checked out: nothing is fetched. Usage error where one is
/// not there.
Status check_out_submodules(const std::filesystem::path& root, const std::filesystem::path& folder) {
  std::error_code missing;
  if (!std::filesystem::exists(folder / ".gitmodules", missing)) return {};
  WM_ASSIGN(const auto entries, git({"-C", folder.string(), "ls-tree", "-r", "HEAD"}));
  for (const auto& entry : split(entries, '\n')) {
    const auto tab = entry.find('\t');
    if (!entry.starts_with("160000 commit ") || tab == std::string::npos) continue;
    const std::string sha = entry.substr(14, tab - 14), path = entry.substr(tab + 1);
    const auto source = root / path, copy = folder / path;
    const auto there = git({"-C", source.string(), "cat-file", "-e", sha + "^{commit}"});
    if (!std::filesystem::exists(source / ".git", missing) || !there.ok()) {
      return usage_error(
          "the submodule " + path + " is not here at " + sha.substr(0, 12) + ", which this revision uses",
          "git submodule update --init --recursive, or git -C " + path + " fetch");
    }
    std::filesystem::remove_all(copy, missing);
    WM_TRY(git({"-c", "protocol.file.allow=always", "clone", "--quiet", "--shared", "--no-checkout", "--",
                source.string(), copy.string()}));
    WM_TRY(git({"-C", copy.string(), "checkout", "--quiet", "--detach", sha}));
    WM_TRY(check_out_submodules(source, copy));
  }
  return {};
}

Result<bool> contains(const std::string& commit, const std::string& ancestor) {
  WM_ASSIGN(const auto output,
            run_process({"git", "merge-base", "--is-ancestor", ancestor, commit}, {.deadline_s = 60}));
  if (output.exit_code > 1) return usage_error("git merge-base failed: " + std::string(trim(output.err)));
  return output.exit_code == 0;
}

}  // namespace

Status check_repository() {
  const auto folder = git({"rev-parse", "--git-dir"});
  if (folder.ok()) return {};
  const std::string reason = folder.error().what;
  return usage_error("this folder is not in a git repository", "change to the checkout of your project, then repeat (" +
                                                                   reason.substr(0, reason.find('\n')) + ")");
}

Result<Commit> find_commit(const std::string& revision) {
  const auto sha = git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (!sha.ok()) {
    WM_TRY(check_repository());
    return usage_error("there is no revision '" + revision + "' in this repository", where_to_look());
  }
  WM_ASSIGN(const auto line, git({"log", "-1", kFormat, *sha}));
  return commit_of(line);
}

Result<std::set<std::string>> ancestors_of(const std::string& revision) {
  WM_ASSIGN(const auto text, git({"rev-list", "--end-of-options", revision}));
  const auto lines = split(text, '\n');
  return std::set<std::string>(lines.begin(), lines.end());
}

validate::CommitOrder order_of_commits(const std::string& revision) {
  validate::CommitOrder order;
  for (const auto& name : {revision, "origin/" + revision, std::string("HEAD")}) {
    if (name.empty() || name == "origin/") continue;
    const auto text = git({"rev-list", "--topo-order", "--end-of-options", name});
    if (!text.ok()) continue;
    std::int64_t age = 0;
    for (const auto& sha : split(*text, '\n')) order.age.emplace(sha, age++);
    const auto shallow = git({"rev-parse", "--is-shallow-repository"});
    order.complete = shallow.ok() && *shallow == "false";
    return order;
  }
  return order;
}

validate::CommitOrder ancestry_of(const std::string& commit) {
  return !commit.empty() && find_commit(commit).ok() ? order_of_commits(commit) : validate::CommitOrder{};
}

std::optional<std::set<std::string>> commits_here(const std::set<std::string>& commits) {
  if (!repository_folder().ok()) return std::nullopt;
  std::string input;
  for (const auto& commit : commits) input += commit + "^{commit}\n";
  std::set<std::string> here;
  const auto output =
      run_process({"git", "cat-file", "--batch-check=%(objectname)"}, {.deadline_s = 60, .input = input});
  if (!output.ok()) return here;
  for (const auto& line : split(output->out, '\n')) {
    if (commits.contains(line)) here.insert(line);  // else it is missing
  }
  return here;
}

Result<std::vector<Commit>> first_parent_range(const std::string& good, const std::string& bad) {
  WM_ASSIGN(auto first, find_commit(good));
  WM_ASSIGN(const auto last, find_commit(bad));
  if (first.sha == last.sha) return usage_error("'" + good + "' and '" + bad + "' are the same commit");
  WM_ASSIGN(const bool descends, contains(last.sha, first.sha));
  if (!descends) {
    const auto base = git({"merge-base", first.sha, last.sha});
    return usage_error(
        "'" + good + "' is no ancestor of '" + bad + "'",
        base.ok() ? "what both have in common is --good " + base->substr(0, 12) : "they have no history in common");
  }
  WM_ASSIGN(const auto log, git({"log", "--first-parent", "--reverse", kFormat, first.sha + ".." + last.sha}));
  std::vector<Commit> range{std::move(first)};
  for (const auto& line : split(log, '\n')) {
    WM_ASSIGN(auto commit, commit_of(line));
    range.push_back(std::move(commit));
  }
  // Where the good commit came in by a merge, those before the merge do not have it: the first that does begins.
  std::size_t low = 1, high = range.size() - 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    WM_ASSIGN(const bool has, contains(range[middle].sha, range.front().sha));
    if (has) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  range.erase(range.begin() + 1, range.begin() + static_cast<std::ptrdiff_t>(low));
  return range;
}

Status check_out_apart(const std::string& sha, const std::filesystem::path& folder) {
  WM_ASSIGN(const auto root, repository_folder());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::filesystem::create_directories(folder.parent_path(), ignored);
  WM_TRY(git({"clone", "--quiet", "--shared", "--no-checkout", "--", root, folder.string()}));
  WM_TRY(git({"-C", folder.string(), "checkout", "--quiet", "--detach", sha}));
  return check_out_submodules(root, folder);
}

Result<std::string> project_place(const std::filesystem::path& folder) {
  WM_ASSIGN(const auto prefix, git({"rev-parse", "--show-prefix"}));
  return (folder / prefix).string();
}

Result<std::string> repository_folder() {
  auto root = git({"rev-parse", "--show-toplevel"});
  if (!root.ok()) WM_TRY(check_repository());
  return root;
}

Result<std::unique_ptr<Worktree>> Worktree::create(const std::string& revision, const std::filesystem::path& folder) {
  WM_ASSIGN(const auto commit, find_commit(revision));
  WM_ASSIGN(auto prefix, git({"rev-parse", "--show-prefix"}));
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  std::unique_ptr<Worktree> tree(new Worktree(commit.sha, folder, prefix));
  if (!tree->built()) std::filesystem::remove_all(folder, ignored);
  std::filesystem::create_directory(folder, ignored);
  tree->lock_ = lock_folder(folder);
  if (tree->built()) return tree;
  WM_TRY(git({"worktree", "add", "--detach", "--force", folder.string(), commit.sha}));
  WM_ASSIGN(const auto root, repository_folder());
  WM_TRY(check_out_submodules(root, folder));
  return tree;
}

Worktree::~Worktree() {
  std::error_code ignored;
  std::filesystem::remove(mark(), ignored);
  const auto removed = git({"worktree", "remove", "--force", "--force", root_.string()});
  if (!removed.ok()) std::filesystem::remove_all(root_, ignored);  // a build that still writes
  if (lock_ >= 0) ::close(lock_);
}

void remove_abandoned_worktrees(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::vector<std::filesystem::path> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const bool ours = entry.path().filename().string().starts_with("worktree-");
    if (ours && entry.is_directory(ignored)) left.push_back(entry.path());
  }
  for (const auto& path : left) {
    const int lock = lock_folder(path);
    if (lock < 0) continue;
    // From within, as it may belong to another repository than ours.
    const auto removed = git({"-C", path.string(), "worktree", "remove", "--force", "--force", path.string()});
    if (!removed.ok()) std::filesystem::remove_all(path, ignored);
    ::close(lock);
  }
}

std::string Worktree::directory() const { return (root_ / prefix_).string(); }

std::filesystem::path Worktree::mark() const { return root_.string() + ".built"; }

bool Worktree::built() const {
  const auto text = read_file(mark(), 1000);
  return text.ok() && *text == commit_ && std::filesystem::is_directory(root_);
}

Status Worktree::mark_built() const { return write_file(mark(), commit_); }

}  // namespace warpmark::apps
