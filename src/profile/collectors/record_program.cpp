#include "profile/collectors/record_program.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "profile/collectors/counters.h"
#include "profile/collectors/program.h"
#include "profile/recording/writer.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libwarpmark_inject.so";

/// Joins the parts that the processes wrote. Renamed into place, so that a half file never bears the name.
Status join(const fs::path& folder, const fs::path& out) {
  const fs::path half = out.string() + ".part";
  {
    std::ofstream to(half, std::ios::binary | std::ios::trunc);
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure)) {
      std::ifstream from(entry.path(), std::ios::binary);
      if (entry.file_size() > 0) to << from.rdbuf();
    }
    to.flush();
    if (!to || failure) {
      return environment_error("cannot write " + half.string(), "the parts are kept in " + folder.string());
    }
  }
  std::error_code failure;
  fs::rename(half, out, failure);
  if (failure) {
    return environment_error("cannot write " + out.string() + ": " + failure.message(),
                             "the parts are kept in " + folder.string());
  }
  fs::remove_all(folder, failure);
  return {};
}

std::int64_t parts_in(const fs::path& folder) {
  std::error_code ignored;
  std::int64_t parts = 0;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    parts += entry.path().filename() != "machine.wmrec" ? 1 : 0;
  }
  return parts;
}

std::vector<std::pair<std::string, std::string>> environment_of(const RecordOptions& options, const fs::path& folder) {
  return {{"CUDA_INJECTION64_PATH", options.library.string()},
          {"WARPMARK_RECORD_FOLDER", folder.string()},
          {"WARPMARK_RECORD_CUPTI", options.cupti},
          {"WARPMARK_RECORD_DELAY", std::to_string(options.delay_s)},
          {"WARPMARK_RECORD_DURATION", std::to_string(options.duration_s)},
          {"WARPMARK_RECORD_GRAPHS", options.whole_graphs ? "whole" : "nodes"}};
}

/// Samples until the program has ended. Ctrl-C reaches the program from the terminal by itself; a second one kills it.
int watch(Program& program, CounterSampler& sampler, const RecordOptions& options) {
  const auto interval = std::chrono::duration<double>(options.interval_s);
  auto next = std::chrono::steady_clock::now();
  bool told = false;
  while (true) {
    if (const auto code = program.poll()) return *code;
    if (options.interval_s > 0 && std::chrono::steady_clock::now() >= next) {
      sampler.sample();
      next += std::chrono::duration_cast<std::chrono::steady_clock::duration>(interval);
    }
    if (!told && options.interrupted != nullptr && options.interrupted->load()) {
      program.send(SIGINT);
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

Result<RecordOutcome> record_program(const RecordOptions& options) {
  const fs::path folder = fs::absolute(options.out.string() + ".parts");
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    return environment_error("cannot create " + folder.string() + ": " + failure.message(),
                             "choose a file in a folder that you can write with --out");
  }
  recording::RecordingWriter machine;
  if (!machine.open((folder / "machine.wmrec").c_str())) {
    return environment_error("cannot write into " + folder.string(), "choose another --out");
  }
  std::string command;
  for (const auto& word : options.command) command += (command.empty() ? "" : " ") + word;
  machine.metadata("command", command);
  auto program = Program::start(options.command, environment_of(options, folder));
  if (!program.ok()) {
    machine.close();
    fs::remove_all(folder, failure);
    return program.error();
  }
  CounterSampler sampler(machine, program->id());
  RecordOutcome outcome;
  outcome.exit_code = watch(*program, sampler, options);
  outcome.gpu_problem = sampler.gpu_problem();
  machine.finish();
  outcome.processes = parts_in(folder);
  WM_TRY(join(folder, options.out));
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
                                root / "usr/lib/x86_64-linux-gnu"};
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
