#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kHistory[] = {
    {"show", McpKind::text, "sessions: the newest ones (default); session: one of them; trend: metrics over commits",
     "", false, "sessions session trend"},
    {"session", McpKind::name, "session: an id, the beginning of one, a tag, or last"},
    {"limit", McpKind::whole, "sessions: how many (20)"},
    {"metrics", McpKind::text, "trend: a pattern"},
    {"branch", McpKind::text, "trend: the branch (main), or all"},
};

Result<McpPlan> plan_history(const McpArguments& arguments) {
  const auto show = arguments.text("show", "sessions");
  const auto with_json = [](std::vector<std::string> words, const char* json) {
    auto second = words;
    second.emplace_back(json);
    return McpPlan{.steps = {std::move(words), std::move(second)}, .json_is_printed = true};
  };
  if (show == "session") return with_json({"report", arguments.text("session", "last")}, "--format=json");
  if (show == "trend") {
    std::vector<std::string> words{"trend"};
    if (arguments.has("branch")) words.push_back("--branch=" + arguments.text("branch"));
    if (const auto pattern = arguments.text("metrics"); pattern.starts_with("-")) {
      return usage_error("a pattern of metrics does not begin with -");
    } else if (!pattern.empty()) {
      words.push_back(pattern);
    }
    return with_json(words, "--format=json");
  }
  std::vector<std::string> words{"history", "list"};
  if (arguments.has("limit")) words.push_back("--limit=" + arguments.text("limit"));
  return with_json(words, "--json");
}

}  // namespace

extern const McpTool history_tool{
    .id = "history",
    .title = "What was measured before",
    .summary =
        "Lists stored sessions (warpmark.sessions/1), shows one of them (warpmark.results/1), or shows how metrics "
        "went "
        "over the commits and where their level changed (warpmark.trend/1).",
    .properties = kHistory,
    .changes_nothing = true,
    .answers = "warpmark.sessions/1 warpmark.results/1 warpmark.trend/1",
    .plan = plan_history,
};

}  // namespace warpmark::apps
