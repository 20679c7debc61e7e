#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kAnalyze[] = {
    {"paths", McpKind::paths, "profiles: PyTorch or JAX traces, nsys, ncu, recordings; several are ranks of one run",
     "", true},
    {"against", McpKind::path},
    {"top"},
};

Result<McpPlan> plan_analyze(const McpArguments& arguments) {
  auto words = mcp_words("analyze", kAnalyze, arguments);
  words.push_back(std::string("--json=") + kMcpJsonFile);
  for (const auto& path : arguments.texts("paths")) words.push_back(path);
  return McpPlan{.steps = {words}};
}

constexpr McpProperty kQuery[] = {
    {"paths", McpKind::paths, "profiles, as for analyze", "", true},
    {"sql", McpKind::text,
     "one SELECT of SQLite over the tables of the profile; begin with SELECT name, sql FROM sqlite_master; add a LIMIT",
     "--query", true},
    {"limit", McpKind::count, "rows that are answered (100), of 1 MiB at most; the others are counted", "--max-rows"},
};

Result<McpPlan> plan_query(const McpArguments& arguments) {
  auto words = mcp_words("analyze", kQuery, arguments);
  words.insert(words.end(), {"--format=json", "--max-bytes=1MiB"});
  if (!arguments.has("limit")) words.emplace_back("--max-rows=100");
  for (const auto& path : arguments.texts("paths")) words.push_back(path);
  return McpPlan{.steps = {words}, .json_is_printed = true, .rows = true};
}

}  // namespace

extern const McpTool analyze_tool{
    .id = "analyze",
    .title = "Diagnose a profile",
    .summary =
        "Reads profiles of GPU programs, gives every nanosecond of a step to one cause, and names the bottlenecks with "
        "evidence, advice and what fixing them gains. Returns warpmark.analysis/1. Needs no GPU.",
    .properties = kAnalyze,
    .changes_nothing = true,
    .answers = "warpmark.analysis/1 warpmark.profile_diff/1",
    .plan = plan_analyze,
};

extern const McpTool query_tool{
    .id = "query",
    .title = "Ask a profile in SQL",
    .summary =
        "Runs one SELECT over the events, kernels, ranges and counters of profiles. Returns {\"rows\": [...], "
        "\"rows_left_out\": 0, \"all_rows_counted\": true}. It cannot write or open other files.",
    .properties = kQuery,
    .verb = "analyze",
    .changes_nothing = true,
    .plan = plan_query,
};

}  // namespace warpmark::apps
