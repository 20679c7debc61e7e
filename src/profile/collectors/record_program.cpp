#include "profile/collectors/record_program.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/processes/reaper.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/counters.h"
#include "profile/collectors/recording_parts.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libwarpmark_inject.so";

std::vector<std::pair<std::string, std::string>> environment_of(const RecordOptions& options, const fs::path& folder) {
  auto variables = options.environment;
  if (options.library.empty()) return variables;
  const auto recording = record_variables(options, folder);
  variables.insert(variables.end(), recording.begin(), recording.end());
  variables.insert(variables.end(), {{"CUDA_INJECTION64_PATH", options.library.string()},
                                     {"NVTX_INJECTION64_PATH", options.library.string()}});
  return variables;
}

using Clock = std::chrono::steady_clock;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// Watches over the program: samples, passes signals on, ends it where it shall not go on.
class Watch {
 public:
  Watch(Reaped& program, CounterSampler& sampler, const RecordOptions& options, const RecordingParts& parts,
        RecordOutcome& outcome)
      : program_(program), sampler_(sampler), options_(options), parts_(parts), outcome_(outcome) {}

  /// The exit code.
  int run() {
    const auto begin = Clock::now();
    auto next_sample = begin, next_poll = begin;
    bool searched_driver = false;
    while (true) {
      const auto ended = program_.poll();
      const bool asked_to_end = options_.interrupted != nullptr && options_.interrupted->load();
      if (ended) {
        outcome_.interrupted = outcome_.interrupted || asked_to_end;  // a terminal's signal reaches both at once
        return ended->exit_code;
      }
      const auto now = Clock::now();
      if (options_.interval_s > 0 && now >= next_sample) {
        sampler_.sample();
        next_sample += seconds(options_.interval_s);
      }
      if (asked_to_end) interrupted(now);
      if (options_.deadline_s > 0 && now >= begin + seconds(options_.deadline_s)) end(now, outcome_.timed_out, 5);
      if (options_.stop && !outcome_.stopped && now >= next_poll) {
        next_poll = now + std::chrono::milliseconds(200);
        if (parts_.all_recorded()) {
          say("recorded: ending the program (--stop)");
          end(now, outcome_.stopped, options_.patience_s);
        }
      }
      if (asked_ && now >= kill_at_) kill();
      if (killed_) return 128 + SIGKILL;
      if (!searched_driver && now >= begin + std::chrono::seconds(1)) {
        searched_driver = true;
        warn_without_driver();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  /// The first signal asks the program to end, the second one does not wait for it.
  void interrupted(Clock::time_point now) {
    if (!outcome_.interrupted) {
      const bool reached = options_.signal_reached_program != nullptr && options_.signal_reached_program();
      outcome_.interrupted = true;
      if (!reached) program_.send(SIGINT);
      ask(now, options_.patience_s);
      say("interrupted: waiting for the program to end; again to end it at once, and keep what was recorded");
    } else if (options_.interrupts != nullptr && options_.interrupts->load() > 1 && !killed_) {
      kill();
    }
  }

  /// Launchers end their ranks when they are asked to end.
  void end(Clock::time_point now, bool& why, double patience_s) {
    if (why) return;
    why = true;
    program_.send(SIGTERM);
    ask(now, patience_s);
  }

  void ask(Clock::time_point now, double patience_s) {
    asked_ = true;
    kill_at_ = now + seconds(patience_s);
  }

  /// With all that it started; what it recorded so far is in its parts.
  void kill() {
    killed_ = true;
    program_.end();
  }

  void warn_without_driver() const {
    std::error_code ignored;
    if (options_.library.empty() || fs::exists("/proc/driver/nvidia/version", ignored) || parts_.begun() > 0) return;
    say("no NVIDIA driver is loaded here, so no CUDA call can be recorded; without a GPU, profile the host: "
        "py-spy record -o host.svg -- COMMAND, or torch.profiler and then warpmark analyze trace.json");
  }

  Reaped& program_;
  CounterSampler& sampler_;
  const RecordOptions& options_;
  const RecordingParts& parts_;
  RecordOutcome& outcome_;
  bool asked_ = false;
  bool killed_ = false;
  Clock::time_point kill_at_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> record_variables(const RecordOptions& options,
                                                                  const fs::path& folder) {
  return {{"WARPMARK_RECORD_FOLDER", folder.string()},
          {"WARPMARK_RECORD_CUPTI", options.cupti},
          {"WARPMARK_RECORD_DELAY", std::to_string(options.delay_s)},
          {"WARPMARK_RECORD_DURATION", std::to_string(options.duration_s)},
          {"WARPMARK_RECORD_WARMUP_STEPS", std::to_string(options.warmup_steps)},
          {"WARPMARK_RECORD_STEPS", std::to_string(options.steps)},
          {"WARPMARK_RECORD_WINDOWS", std::to_string(options.windows)},
          {"WARPMARK_RECORD_RANGE", options.range},
          {"WARPMARK_RECORD_GRAPHS", options.whole_graphs ? "whole" : "nodes"},
          {"WARPMARK_RECORD_MEMORY", options.memory ? "1" : "0"},
          {"WARPMARK_RECORD_WAITS", options.waits ? "1" : "0"}};
}

std::vector<std::pair<std::string, std::string>> dormant_variables(const fs::path& library, const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> variables{{"WARPMARK_RECORD_DORMANT", folder.string()}};
  if (library.empty()) return variables;
  variables.insert(variables.end(),
                   {{"CUDA_INJECTION64_PATH", library.string()}, {"NVTX_INJECTION64_PATH", library.string()}});
  return variables;
}

Result<RecordOutcome> record_program(const RecordOptions& options) {
  WM_ASSIGN(auto parts, RecordingParts::make(options.out, join(options.command, " ")));
  auto program = Reaped::start(
      options.command,
      {.environment = environment_of(options, parts.folder()), .own_group = false, .interrupted = options.interrupted});
  if (!program.ok()) {
    parts.discard();
    return program.error();
  }
  CounterSampler sampler(parts.machine(), program->id());
  RecordOutcome outcome;
  outcome.exit_code = Watch(*program, sampler, options, parts, outcome).run();
  outcome.gpu_problem = sampler.gpu_problem();
  WM_TRY(parts.complete(options, outcome));
  return outcome;
}

Result<fs::path> find_inject_library(const fs::path& executable, const char* named) {
  std::error_code ignored;
  if (named != nullptr && *named != '\0') {
    if (fs::exists(named, ignored)) return fs::absolute(named);
    return environment_error("WARPMARK_INJECT_LIBRARY names " + std::string(named) + ", which does not exist");
  }
  const auto folder = executable.parent_path();
  for (const auto& place : {folder / kLibrary, folder / ".." / "lib" / "warpmark" / kLibrary}) {
    if (fs::exists(place, ignored)) return fs::absolute(place).lexically_normal();
  }
  return environment_error(std::string(kLibrary) + " is neither next to the program nor in ../lib/warpmark",
                           "it is built where CUPTI's headers are installed (they come with the CUDA toolkit)");
}

std::string find_cupti(const fs::path& root, const std::vector<std::string>& python_folders) {
  std::vector<fs::path> folders{root / "usr/local/cuda/lib64", root / "usr/local/cuda/extras/CUPTI/lib64",
                                root / "usr/lib/x86_64-linux-gnu", root / "usr/lib/aarch64-linux-gnu"};
  for (const auto& folder : python_folders) {
    for (const char* part : {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"}) folders.push_back(fs::path(folder) / part);
  }
  std::error_code ignored;
  for (const auto& folder : folders) {
    for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
      if (fs::exists(folder / name, ignored)) return (folder / name).string();
    }
  }
  return {};
}

}  // namespace warpmark::profile
