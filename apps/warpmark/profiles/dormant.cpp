#include "warpmark/profiles/dormant.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <ostream>
#include <system_error>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/record_program.h"
#include "warpmark/profiles/gpu_recorder.h"
#include "warpmark/profiles/recorder.h"
#include "workers/hooked_program.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

/// Of this user's sleeping recorders: the hook, the requests, the stacks. Environment error where it is another user's,
/// who could have it record into any file.
Result<fs::path> dormant_folder() {
  std::error_code failure;
  const fs::path folder = fs::temp_directory_path(failure) / fmt::format("warpmark-dormant-{}", ::getuid());
  if (failure) return environment_error("there is no folder for temporary files", "name one in TMPDIR");
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return environment_error("cannot create " + folder.string() + ": " + std::strerror(errno), "name another TMPDIR");
  }
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::getuid() ||
      (found.st_mode & 0077) != 0) {
    return environment_error(folder.string() + " is not a folder of yours alone", "remove it, or name another TMPDIR");
  }
  return folder;
}

/// Files of processes that have ended: NUMBER.jsonl, NUMBER.fifo, NUMBER.wake.
void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto process = parse_integer(entry.path().stem().string());
    std::error_code none;
    if (process.ok() && !fs::exists("/proc/" + std::to_string(*process), none)) fs::remove(entry.path(), none);
  }
}

}  // namespace

Result<profile::RecordOutcome> record_dormant(Context& context, const std::string& programs,
                                              profile::RecordOptions& record) {
  constexpr double kLongestSearch_s = 180;  // of steps in a program that is woken
  if (has_gpu_recorder(context.environment("WARPMARK_CUPTI"))) WM_TRY(find_cupti(context, record));
  WM_ASSIGN(const auto folder, dormant_folder());
  record.stacks = folder / "stacks";
  record.deadline_s = 4 * record.duration_s + kLongestSearch_s;
  if (programs == "all") {
    WM_ASSIGN(const auto all, profile::sleeping_programs(folder));
    return profile::record_running(record, all);
  }
  const auto process = parse_integer(programs);
  if (!process.ok() || *process < 1 || *process > std::numeric_limits<pid_t>::max()) {
    return usage_error("--pid cannot be '" + programs + "'", "give the number of a process, or all");
  }
  const pid_t one[] = {static_cast<pid_t>(*process)};
  return profile::record_running(record, one);
}

Result<int> start_dormant(Context& context, std::vector<std::string> command, bool torch) {
  if (command.empty()) {
    return usage_error("there is no command to start", "warpmark profile --dormant -- python train.py");
  }
  WM_ASSIGN(const auto folder, dormant_folder());
  const fs::path hook = folder / "hook", plan = folder / "plan.json", stacks = folder / "stacks";
  WM_TRY(workers::write_hook(hook));
  WM_TRY(make_folder(stacks));
  remove_leftovers(folder);
  std::error_code none;
  fs::remove(folder / (std::to_string(::getpid()) + ".wake"), none);  // of an earlier process with our number
  remove_leftovers(stacks);
  profile::RecordOptions record;
  if (!torch) WM_TRY(find_recorder(context, record));
  auto variables = profile::dormant_variables(record.library, folder);
  const char* python_path = context.environment("PYTHONPATH");
  if (torch) {
    workers::HookPlan sleeping;
    sleeping.measure = false;
    sleeping.dormant = folder.string();
    WM_TRY(write_file(plan, workers::plan_text(sleeping)));
    for (auto& variable : workers::hook_variables(hook, plan, folder / "no-report", python_path)) {
      variables.push_back(std::move(variable));
    }
  } else {
    for (auto& variable : workers::stack_variables(hook, stacks, python_path)) variables.push_back(std::move(variable));
  }
  command = workers::keep_variables(std::move(command), hook.string(), variables);
  context.err << fmt::format("warpmark: to record it while it runs: warpmark profile --pid {}\n", ::getpid());
  context.err.flush();
  context.out.flush();
  return replace_process(std::move(command), variables);
}

}  // namespace warpmark::apps
