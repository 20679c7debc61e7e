#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/files.h"
#include "warpmark/mcp/mcp_tool.h"
#include "warpmark/profiles/gpu_recorder.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kProfile[] = {
    {"command", McpKind::command, "the program to record", "", true},
    {"settings", McpKind::settings, "values for the settings of the command"},
    {"delay"},
    {"duration"},
    {"warmup_steps", McpKind::count},
    {"steps", McpKind::count},
    {"capture_range", McpKind::name},
    {"memory"},
};

/// Without a GPU the probe of the optimizer answers: how steps divide, and what each setting would gain; or where a
/// program without PyTorch waits.
McpPlan plan_probe(const McpArguments& arguments, const std::vector<std::string>& command) {
  std::vector<std::string> probe{"optimize", "--list-knobs", std::string("--json=") + kMcpJsonFile};
  add_command(probe, command);
  return McpPlan{
      .steps = {probe},
      .note = fmt::format("There is no NVIDIA GPU. Next: call optimize with command \"{}\" and only the first "
                          "setting that is worth trying; where none is, change what \"Time on the host\" "
                          "names.",
                          arguments.text("command"))};
}

Result<McpPlan> plan_profile(const McpArguments& arguments) {
  WM_ASSIGN(const auto command, arguments.command());
  if (!has_gpu_recorder(std::getenv("WARPMARK_CUPTI"))) return plan_probe(arguments, command);
  WM_TRY(make_folder(arguments.config().out));
  const auto name = fmt::format("{}-{}-{}.wmrec", arguments.text("command"), ::getpid(), monotonic_ns() / 1'000'000);
  const std::string file = arguments.config().out / name;
  auto record = mcp_words("profile", kProfile, arguments);
  record.push_back("--out=" + file);
  add_command(record, command);
  return McpPlan{.steps = {record, {"analyze", file, std::string("--json=") + kMcpJsonFile}},
                 .note = fmt::format("The recording is {}: analyze and query can read it again. Next: change what the "
                                     "first finding names and prove it with compare, or call optimize with command "
                                     "\"{}\", which tries and proves settings without a change of the program.",
                                     file, arguments.text("command"))};
}

}  // namespace

extern const McpTool profile_tool{
    .id = "profile",
    .title = "Why is this program slow? Records and diagnoses it",
    .summary =
        "Runs a command of the allow-list, records what it does on the GPU without changing it, and names the "
        "bottlenecks with the gain of fixing each as an interval, and the next step. Without an NVIDIA GPU it probes "
        "the steps of a PyTorch program and returns warpmark.knobs/1: settings with predicted gains and the reason; of "
        "other programs it names the lines where they sleep or wait. "
        "Needs no profile. Returns warpmark.analysis/1.",
    .properties = kProfile,
    .changes_nothing = false,
    .answers = "warpmark.analysis/1 warpmark.knobs/1",
    .plan = plan_profile,
};

}  // namespace warpmark::apps
