// Wakes recorders that sleep in a running program (profile/module/wake.h, _warpmark_dormant.py), or asks its PyTorch
// (kineto_daemon.h), and collects what they record.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/counters.h"
#include "profile/collectors/kineto_daemon.h"
#include "profile/collectors/record_program.h"
#include "profile/collectors/recording_parts.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDormant = "WARPMARK_RECORD_DORMANT";  // where a process looks for requests
constexpr const char* kKineto = "KINETO_USE_DAEMON";         // its PyTorch asks a daemon every few seconds
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);
constexpr double kAnswer_s = 30;  // a step may take long, and is asked for between two of them

/// That it was started with. Empty if it was not, or is not ours.
std::string variable_of(std::int64_t process, const std::string& name) {
  const auto environment = read_file("/proc/" + std::to_string(process) + "/environ", 1 << 22);
  if (!environment.ok()) return {};
  for (const auto& variable : split(*environment, '\0')) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return {};
}

bool asks_a_daemon(pid_t process) { return !variable_of(process, kKineto).empty(); }

/// Requests to all processes of a program; withdrawn with the object.
class Requests {
 public:
  Requests() = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() {
    std::error_code ignored;
    for (const auto& file : files_) fs::remove(file, ignored);
  }
  Status send(const std::set<std::int64_t>& processes, const std::string& text) {
    for (const auto one : processes) {
      const auto folder = variable_of(one, kDormant);
      if (folder.empty()) continue;
      files_.push_back(fs::path(folder) / (std::to_string(one) + ".wake"));
      WM_TRY(write_file(files_.back(), text));
    }
    return {};
  }

 private:
  std::vector<fs::path> files_;
};

fs::path place_of(pid_t process) { return "/proc/" + std::to_string(process); }

bool is_there(pid_t process) {
  std::error_code none;
  return fs::exists(place_of(process), none);
}

Status check_process(pid_t process) {
  const auto id = std::to_string(process);
  if (!is_there(process)) {
    return usage_error("there is no process " + id, "pgrep -af python lists the running ones");
  }
  if (::kill(process, 0) != 0) {
    return environment_error("process " + id + " belongs to another user", "run warpmark as that user");
  }
  if (!variable_of(process, kDormant).empty() || asks_a_daemon(process)) return {};
  return usage_error("process " + id + " has no recorder that could be woken",
                     "start the program with: warpmark profile --dormant -- COMMAND (or PyTorch with "
                     "KINETO_USE_DAEMON=1)");
}

std::string request_text(const RecordOptions& options, const fs::path& folder) {
  std::string text;
  for (const auto& [name, value] : record_variables(options, folder)) text += name + "=" + value + "\n";
  return text;
}

}  // namespace

Result<std::vector<pid_t>> sleeping_programs(const fs::path& folder) {
  std::set<std::int64_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = parse_integer(entry.path().filename().string());
    if (process.ok() && variable_of(*process, kDormant) == folder.string()) found.insert(*process);
  }
  std::set<std::int64_t> started;
  for (const auto process : found) {
    for (const auto one : family_of("/", static_cast<pid_t>(process))) {
      if (one != process) started.insert(one);
    }
  }
  std::vector<pid_t> programs;
  for (const auto process : found) {
    if (!started.contains(process)) programs.push_back(static_cast<pid_t>(process));
  }
  if (!programs.empty()) return programs;
  return environment_error(
      "no program of yours that runs here was started with --dormant (requests: " + folder.string() + ")",
      "warpmark profile --dormant -- COMMAND; with the same TMPDIR");
}

Result<RecordOutcome> record_running(const RecordOptions& options, std::span<const pid_t> programs) {
  WM_CHECK(!programs.empty());
  for (const auto program : programs) WM_TRY(check_process(program));
  const pid_t process = programs.front();
  WM_ASSIGN(const auto command, read_file(place_of(process) / "cmdline", 1 << 22));
  auto words = split(command, '\0');
  std::erase(words, "");
  WM_ASSIGN(auto parts, RecordingParts::make(options.out, join(words, " ")));
  CounterSampler sampler(parts.machine(), process);
  std::set<std::int64_t> processes;
  for (const auto program : programs) processes.merge(family_of("/", program));
  Requests requests;
  WM_TRY(requests.send(processes, request_text(options, parts.folder())));
  std::optional<KinetoDaemon> daemon;
  if (variable_of(process, kDormant).empty()) {
    auto listening = KinetoDaemon::listen(variable_of(process, "KINETO_IPC_SOCKET_DIR"),
                                          {parts.folder(), options.duration_s, options.steps});
    if (!listening.ok()) {
      parts.discard();
      return listening.error();
    }
    daemon.emplace(std::move(*listening));
  }
  RecordOutcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  double next_sample_s = 0;
  while (!parts.all_recorded()) {
    if (daemon) daemon->answer(processes);
    const double now_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (std::ranges::none_of(programs, is_there)) break;  // what they recorded until then is there
    if (options.interrupted != nullptr && options.interrupted->load()) {
      outcome.interrupted = true;
      break;
    }
    if (now_s > kAnswer_s && parts.begun() == 0) {
      parts.discard();
      return environment_error("process " + std::to_string(process) + " recorded nothing within 30 s",
                               "only steps of PyTorch and calls of CUDA are recorded: is it at its steps?");
    }
    outcome.timed_out = options.deadline_s > 0 && now_s > options.deadline_s;
    if (outcome.timed_out) break;
    if (options.interval_s > 0 && now_s >= next_sample_s) {
      sampler.sample();
      next_sample_s += options.interval_s;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  outcome.gpu_problem = sampler.gpu_problem();
  WM_TRY(parts.complete(options, outcome));
  outcome.still_running.clear();  // they go on, as they should
  return outcome;
}

}  // namespace warpmark::profile
