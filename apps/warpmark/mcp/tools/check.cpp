#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kCheck[] = {
    {"project", McpKind::project, "measure as this project says first; without it the newest stored session is checked",
     "--project"},
    {"command", McpKind::command, "measure this command first"},
    {"settings", McpKind::settings, "values for the settings of the command"},
    {"run", McpKind::name},
    {"baseline", McpKind::text},
    {"threshold"},
    {"metrics"},
};

Result<McpPlan> plan_check(const McpArguments& arguments) {
  auto words = mcp_words("check", kCheck, arguments);
  words.push_back(std::string("--json=") + kMcpJsonFile);
  if (arguments.has("command") && arguments.has("project")) return usage_error("give a command or a project");
  if (arguments.has("command")) {
    WM_ASSIGN(const auto command, arguments.command());
    add_command(words, command);
  }
  return McpPlan{.steps = {words}};
}

}  // namespace

extern const McpTool check_tool{
    .id = "check",
    .title = "Is this a regression?",
    .summary =
        "Sets a session, or a command measured now, against the history of a branch on the same machine and says which "
        "metrics are worse than the history's own variation allows. Returns warpmark.check/1.",
    .properties = kCheck,
    .changes_nothing = false,
    .answers = "warpmark.check/1",
    .plan = plan_check,
};

}  // namespace warpmark::apps
