#include "warpmark/profiles/torch_recorder.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/files.h"
#include "profile/collectors/tools.h"
#include "warpmark/profiles/gpu_recorder.h"
#include "workers/hooked_program.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kWarmupSteps = 3;
/// A program that is not there is named by the error alone.
bool is_there(const Context& context, const std::string& program) {
  const char* path = context.environment("PATH");
  return program.find('/') != std::string::npos || profile::find_tool(program, path == nullptr ? "" : path).ok();
}

constexpr double kUntilTheEnd_s = 1e9;  // the hook keeps to the steps that memory has room for

}  // namespace

TorchRecorder::~TorchRecorder() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Status TorchRecorder::prepare(Context& context, profile::RecordOptions& record) {
  // Said before minutes of a program are recorded.
  if (!has_gpu_recorder(context.environment("WARPMARK_CUPTI")) && is_there(context, record.command.front())) {
    context.err << "warpmark: no NVIDIA driver: PyTorch's own profiler records the steps of a PyTorch program; for "
                   "other programs: py-spy record -o host.svg -- COMMAND\n";
  }
  folder_ = fs::absolute(record.out.string() + ".hook");
  const fs::path hook = folder_ / "hook", plan = folder_ / "plan.json", reports = folder_ / "reports";
  WM_TRY(workers::write_hook(hook));
  WM_TRY(make_folder(reports));
  workers::HookPlan wanted;
  wanted.warmup_steps = record.warmup_steps > 0 ? record.warmup_steps : kWarmupSteps;
  wanted.profile_steps = record.steps;
  wanted.profile_s = record.duration_s > 0 ? record.duration_s : kUntilTheEnd_s;
  wanted.profile_stacks = true;
  wanted.profile_folder = profile::parts_folder(record.out).string();
  wanted.stop = record.stop;
  WM_TRY(write_file(plan, workers::plan_text(wanted)));
  record.environment = workers::hook_variables(hook, plan, reports, context.environment("PYTHONPATH"));
  record.command = workers::keep_variables(record.command, hook.string(), record.environment);
  record.stop = false;  // the hook ends the program
  return {};
}

Error TorchRecorder::nothing_recorded(const profile::RecordOutcome& outcome) const {
  if (auto failed = failed_program(outcome)) return *failed;
  const std::string hint =
      "without an NVIDIA driver there are no CUDA calls, and only steps of PyTorch are recorded; for other programs: "
      "py-spy record -o host.svg -- COMMAND";
  const auto raw = workers::collect_reports(folder_ / "reports");
  if (!raw.ok()) return raw.error();
  const auto reports = workers::parse_reports(*raw);
  if (!reports.ok()) return reports.error();
  for (const auto* report : workers::main_processes(*reports)) {
    if (!report->faults.empty()) return environment_error("nothing was recorded: " + report->faults.front(), hint);
    if (!report->steps.empty()) {
      return environment_error(
          "the program ended after " + std::to_string(report->steps.size()) + " steps, before the recording began",
          "record a longer run, or give --warmup-steps 1");
    }
  }
  return environment_error("the program made no step of PyTorch", hint);
}

}  // namespace warpmark::apps
