#include "warpmark/sessions/git_state.h"

#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

/// Output of a git command; empty if it fails, as outside a repository.
std::string git_output(std::vector<std::string> words) {
  words.insert(words.begin(), "git");
  const auto output = run_process(words, {.deadline_s = 3});
  if (!output.ok() || output->exit_code != 0) return {};
  return std::string(trim(output->out));
}

}  // namespace

GitState git_state() {
  GitState state;
  state.commit = git_output({"rev-parse", "HEAD"});
  if (state.commit.empty()) return state;
  state.branch = git_output({"symbolic-ref", "--quiet", "--short", "HEAD"});
  state.dirty = !git_output({"status", "--porcelain", "--untracked-files=no"}).empty();
  return state;
}

}  // namespace warpmark::apps
