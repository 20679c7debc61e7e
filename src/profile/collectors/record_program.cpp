#include "profile/collectors/record_program.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/processes/reaper.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/counters.h"
#include "profile/collectors/stacks.h"
#include "profile/recording/join.h"
#include "profile/recording/writer.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libwarpmark_inject.so";

constexpr const char* kMachinePart = "machine.wmrec";

/// What the processes wrote, in the order of their names, and what we wrote about the machine.
std::vector<fs::path> parts_in(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) parts.push_back(entry.path());
  std::sort(parts.begin(), parts.end());
  return parts;
}

/// Of the processes that wrote these parts, which are named by their ids. Nobody else can have such an id meanwhile:
/// the command has only just ended.
std::vector<std::int64_t> running_among(const std::vector<fs::path>& parts) {
  std::vector<std::int64_t> running;
  for (const auto& part : parts) {
    const auto id = parse_integer(part.stem().string());
    const std::string state = id.ok() ? first_line("/proc/" + std::to_string(*id) + "/stat") : "";
    if (!state.empty() && state.find(") Z ") == std::string::npos) running.push_back(*id);
  }
  return running;
}

std::vector<std::pair<std::string, std::string>> environment_of(const RecordOptions& options, const fs::path& folder) {
  auto variables = options.environment;
  variables.insert(variables.end(), {{"CUDA_INJECTION64_PATH", options.library.string()},
                                     {"NVTX_INJECTION64_PATH", options.library.string()},
                                     {"WARPMARK_RECORD_FOLDER", folder.string()},
                                     {"WARPMARK_RECORD_CUPTI", options.cupti},
                                     {"WARPMARK_RECORD_DELAY", std::to_string(options.delay_s)},
                                     {"WARPMARK_RECORD_DURATION", std::to_string(options.duration_s)},
                                     {"WARPMARK_RECORD_WARMUP_STEPS", std::to_string(options.warmup_steps)},
                                     {"WARPMARK_RECORD_STEPS", std::to_string(options.steps)},
                                     {"WARPMARK_RECORD_WINDOWS", std::to_string(options.windows)},
                                     {"WARPMARK_RECORD_RANGE", options.range},
                                     {"WARPMARK_RECORD_GRAPHS", options.whole_graphs ? "whole" : "nodes"},
                                     {"WARPMARK_RECORD_MEMORY", options.memory ? "1" : "0"},
                                     {"WARPMARK_RECORD_WAITS", options.waits ? "1" : "0"}});
  return variables;
}

/// Samples until the program has ended. Ctrl-C reaches the program from the terminal by itself; a second one kills it.
int watch(Reaped& program, CounterSampler& sampler, const RecordOptions& options, bool& timed_out) {
  const auto interval = std::chrono::duration<double>(options.interval_s);
  auto next = std::chrono::steady_clock::now();
  auto deadline = next + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                             std::chrono::duration<double>(options.deadline_s));
  bool told = false;
  while (true) {
    if (const auto ended = program.poll()) return ended->exit_code;
    if (options.interval_s > 0 && std::chrono::steady_clock::now() >= next) {
      sampler.sample();
      next += std::chrono::duration_cast<std::chrono::steady_clock::duration>(interval);
    }
    if (!told && options.interrupted != nullptr && options.interrupted->load()) {
      program.send(SIGINT);
      told = true;
    }
    if (options.deadline_s > 0 && std::chrono::steady_clock::now() >= deadline) {
      program.send(timed_out ? SIGKILL : SIGTERM);  // launchers end their ranks when they are asked to end
      timed_out = true;
      deadline += std::chrono::seconds(5);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

Result<RecordOutcome> record_program(const RecordOptions& options) {
  const fs::path folder = fs::absolute(options.out.string() + ".parts");
  WM_TRY(make_folder(folder, "choose a file in a folder that you can write with --out"));
  recording::RecordingWriter machine;
  if (!machine.open((folder / kMachinePart).c_str())) {
    return environment_error("cannot write into " + folder.string(), "choose another --out");
  }
  std::string command;
  for (const auto& word : options.command) command += (command.empty() ? "" : " ") + word;
  machine.metadata("command", command);
  auto program = Reaped::start(options.command, {.environment = environment_of(options, folder), .own_group = false});
  std::error_code ignored;
  if (!program.ok()) {
    machine.close();
    fs::remove_all(folder, ignored);
    return program.error();
  }
  CounterSampler sampler(machine, program->id());
  RecordOutcome outcome;
  outcome.exit_code = watch(*program, sampler, options, outcome.timed_out);
  outcome.gpu_problem = sampler.gpu_problem();
  machine.finish();
  auto parts = parts_in(folder);
  outcome.processes = static_cast<std::int64_t>(parts.size()) - 1;
  outcome.still_running = running_among(parts);
  if (outcome.processes == 0) {  // samples of the machine alone: not worth what may be in the file
    fs::remove_all(folder, ignored);
    return outcome;
  }
  if (!options.stacks.empty()) WM_TRY(add_stacks(options.stacks, parts, outcome.stacks_problem));
  if (const Status joined = recording::join_parts(parts, options.out); !joined.ok()) {
    Error error = joined.error();
    error.hint = "the parts are kept in " + folder.string() + ", which warpmark analyze reads too";
    return error;
  }
  fs::remove_all(folder, ignored);
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
  return environment_error(std::string(kLibrary) + " is not beside the program nor in ../lib/warpmark",
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
