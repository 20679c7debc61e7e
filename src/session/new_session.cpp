#include "session/new_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "device/cuda/backend.h"
#include "device/device.h"
#include "device/machine.h"
#include "generated/version.h"
#include "workloads/cpu_libraries.h"

namespace warpmark::session {
namespace {

/// "20260301-123456-9f3a": sorts by time, and two processes of one second differ.
std::string new_session_id() {
  return fmt::format("{}-{:04x}", id_stamp(format_utc(wall_clock_s())), std::random_device{}() & 0xFFFFU);
}

/// Output of a git command; empty if it fails, as outside a repository.
std::string git_output(std::vector<std::string> words) {
  words.insert(words.begin(), "git");
  const auto output = run_process(words, {.deadline_s = 3});
  if (!output.ok() || output->exit_code != 0) return {};
  return std::string(trim(output->out));
}

}  // namespace

std::string id_stamp(std::string utc) {
  std::erase_if(utc, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::replace(utc.begin(), utc.end(), 'T', '-');
  return utc;
}

Session new_session(const std::string& command) {
  const GitState git = git_state();
  Session session;
  session.id = new_session_id();
  session.started = format_utc(wall_clock_s());
  session.command = command;
  session.commit = git.commit;
  session.branch = git.branch;
  session.dirty = git.dirty;
  session.machine = device::machine_facts();
  session.build = build_info();
  return session;
}

Build build_info() {
  Build build;
  build.version = generated::kVersion;
  build.git_sha = generated::kGitSha;
  build.git_dirty = generated::kGitDirty;
  build.compiler = generated::kCompiler;
  build.type = generated::kBuildType;
  build.features = workloads::cpu_libraries();
  // A build may leave out what this machine cannot use.
  build.features.emplace_back(device::has_cuda_module() ? WARPMARK_CUDA_MODULE : "no CUDA module");
  return build;
}

GitState git_state() {
  GitState state;
  state.commit = git_output({"rev-parse", "HEAD"});
  if (state.commit.empty()) return state;
  state.branch = git_output({"symbolic-ref", "--quiet", "--short", "HEAD"});
  state.dirty = !git_output({"status", "--porcelain", "--untracked-files=no"}).empty();
  return state;
}

}  // namespace warpmark::session
