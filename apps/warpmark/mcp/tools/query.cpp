#include "base/units.h"
#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kQuery[] = {
    {"paths", McpKind::paths, "profiles, as for analyze", "", true},
    {"sql", McpKind::text,
     "one SELECT of SQLite over the tables of the profile; begin with SELECT name, sql FROM sqlite_master; add a LIMIT",
     "--query", true},
    {"limit", McpKind::count, "rows that are answered (100); the others are counted"},
};

Result<McpPlan> plan_query(const McpArguments& arguments) {
  auto words = mcp_words("analyze", kQuery, arguments);
  words.emplace_back("--format=json");
  for (const auto& path : arguments.texts("paths")) words.push_back(path);
  constexpr std::size_t kMostRows = 100;
  WM_ASSIGN(const auto limit, parse_integer(arguments.text("limit", std::to_string(kMostRows))));
  return McpPlan{
      .steps = {words}, .json_is_printed = true, .json_key = "rows", .most_rows = static_cast<std::size_t>(limit)};
}

}  // namespace

extern const McpTool query_tool{
    .id = "query",
    .title = "Ask a profile in SQL",
    .summary =
        "Runs one SELECT over the events, kernels, ranges and counters of profiles. Returns {\"rows\": [...], "
        "\"rows_left_out\": 0}. It "
        "cannot "
        "write or open other files.",
    .properties = kQuery,
    .changes_nothing = true,
    .plan = plan_query,
};

}  // namespace warpmark::apps
