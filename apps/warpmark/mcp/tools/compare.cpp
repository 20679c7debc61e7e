#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kCompare[] = {
    {"a", McpKind::variant, "the command that is A, with its settings"},
    {"b", McpKind::variant, "the command that is B; the same with other settings, or another"},
    {"workload", McpKind::name, "instead of commands: a benchmark, with settings_a and settings_b"},
    {"settings_a", McpKind::settings, "parameters of the workload that is A", "--a"},
    {"settings_b", McpKind::settings, "parameters of the workload that is B", "--b"},
    {"device"},
    {"runs", McpKind::names, "instead of measuring: two stored sessions, by id, tag or last"},
    {"effect"},
    {"rounds", McpKind::count},
    {"budget"},
};

Result<McpPlan> plan_compare(const McpArguments& arguments) {
  auto words = mcp_words("compare", kCompare, arguments);
  words.push_back(std::string("--json=") + kMcpJsonFile);
  if (arguments.has("a") != arguments.has("b")) return usage_error("both a and b are needed");
  if ((arguments.has("a") ? 1 : 0) + (arguments.has("workload") ? 1 : 0) + (arguments.has("runs") ? 1 : 0) != 1) {
    return usage_error("give a and b, a workload with settings_a and settings_b, or two runs");
  }
  if (arguments.has("workload")) words.push_back(arguments.text("workload"));
  if (arguments.has("runs")) {
    const auto runs = arguments.texts("runs");
    if (runs.size() != 2) return usage_error("runs takes two stored sessions");
    words.insert(words.end(), runs.begin(), runs.end());
  }
  for (const char* name : {"a", "b"}) {
    if (!arguments.has(name)) continue;
    WM_ASSIGN(const auto command, arguments.variant(name));
    add_command(words, command);
  }
  return McpPlan{.steps = {words}};
}

}  // namespace

extern const McpTool compare_tool{
    .id = "compare",
    .title = "Is B faster than A?",
    .summary =
        "Runs A and B in random order until the verdict is certain: better, same, worse, inconclusive or unreliable, "
        "with the ratio as an interval. Returns warpmark.compare/1. Use it before saying that a change is faster.",
    .properties = kCompare,
    .changes_nothing = false,
    .answers = "warpmark.compare/1",
    .plan = plan_compare,
};

}  // namespace warpmark::apps
