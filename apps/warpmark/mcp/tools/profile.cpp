#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kProfile[] = {
    {"command", McpKind::command, "the program to record", "", true},
    {"settings", McpKind::settings, "values for the settings of the command"},
    {"delay", McpKind::quantity, "run untouched this long after the first CUDA call; without it until steps repeat",
     "--delay"},
    {"duration", McpKind::quantity, "record this long (2s); 0s records to the end", "--duration"},
    {"warmup_steps", McpKind::count, "steps that are not recorded", "--warmup-steps"},
    {"steps", McpKind::count, "record so many steps", "--steps"},
    {"capture_range", McpKind::name, "record only ranges of this name, or cudaProfilerApi", "--capture-range"},
    {"memory", McpKind::flag, "also allocations", "--memory"},
};

Result<McpPlan> plan_profile(const McpArguments& arguments) {
  WM_ASSIGN(const auto command, arguments.command());
  WM_TRY(make_folder(arguments.config().out));
  const auto name = fmt::format("{}-{}-{}.wmrec", arguments.text("command"), ::getpid(), monotonic_ns() / 1'000'000);
  const std::string file = arguments.config().out / name;
  auto record = mcp_words("profile", kProfile, arguments);
  record.push_back("--out=" + file);
  add_command(record, command);
  return McpPlan{.steps = {record, {"analyze", file, std::string("--json=") + kMcpJsonFile}},
                 .note = "The recording is " + file + ": analyze and query can read it again."};
}

}  // namespace

extern const McpTool profile_tool{
    .id = "profile",
    .title = "Record a program on the GPU and diagnose it",
    .summary =
        "Runs a command of the allow-list, records what it does on the GPU without changing it, and names the "
        "bottlenecks with the gain of fixing each as an interval. Returns warpmark.analysis/1. Needs an NVIDIA GPU.",
    .properties = kProfile,
    .changes_nothing = false,
    .answers = "warpmark.analysis/1",
    .plan = plan_profile,
};

}  // namespace warpmark::apps
