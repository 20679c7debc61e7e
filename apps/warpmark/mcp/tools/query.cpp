#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

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

extern const McpTool query_tool{
    .id = "query",
    .title = "Ask a profile in SQL",
    .summary =
        "Runs one SELECT over the events, kernels, ranges and counters of profiles. Returns {\"rows\": [...], "
        "\"rows_left_out\": 0, \"all_rows_counted\": true}. It cannot write or open other files.",
    .properties = kQuery,
    .changes_nothing = true,
    .plan = plan_query,
};

}  // namespace warpmark::apps
