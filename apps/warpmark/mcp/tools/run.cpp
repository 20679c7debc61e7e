#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kRun[] = {
    {"workloads", McpKind::names, "benchmarks of this machine, such as gemm or 'c*'; without any the suite"},
    {"suite", McpKind::text, "quick takes under a minute", "--suite", false, "quick full"},
    {"device"},
    {"set", McpKind::settings, "parameters of the workloads, such as {\"dtype\": \"bf16\", \"m\": 4096}", "--set"},
    {"command", McpKind::command, "instead of benchmarks: the command to measure, each round a fresh process"},
    {"settings", McpKind::settings, "values for the settings of the command"},
    {"project", McpKind::project, "instead of benchmarks: measure as this project says"},
    {"rounds", McpKind::count},
    {"budget"},
};

Result<McpPlan> plan_run(const McpArguments& arguments) {
  auto words = mcp_words("run", kRun, arguments);
  words.push_back(std::string("--json=") + kMcpJsonFile);
  const int what = (arguments.has("workloads") || arguments.has("suite") ? 1 : 0) + (arguments.has("command") ? 1 : 0) +
                   (arguments.has("project") ? 1 : 0);
  if (what > 1) return usage_error("give workloads (or a suite), a command, or a project");
  if (arguments.has("project")) words.push_back("--project=" + arguments.text("project"));
  for (const auto& name : arguments.texts("workloads")) words.push_back(name);
  if (arguments.has("command")) {
    WM_ASSIGN(const auto command, arguments.command());
    add_command(words, command);
  }
  return McpPlan{.steps = {words}};
}

}  // namespace

extern const McpTool run_tool{
    .id = "run",
    .title = "Measure",
    .summary =
        "Measures this machine's benchmarks, or a command of the allow-list, with confidence intervals; results are "
        "checked and stored. Returns warpmark.results/1. A result whose outcome is not 'passed' is no measurement.",
    .properties = kRun,
    .changes_nothing = false,
    .answers = "warpmark.results/1",
    .plan = plan_run,
};

}  // namespace warpmark::apps
