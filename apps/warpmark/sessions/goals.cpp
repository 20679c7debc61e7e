#include "warpmark/sessions/goals.h"

#include <fmt/format.h>

#include <ostream>

#include "report/draw/format.h"
#include "report/draw/table.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {

Result<std::vector<validate::Goal>> goals_of(const ParsedOptions& options) {
  std::vector<validate::Goal> goals;
  for (const auto& text : options.all("--goal")) {
    WM_ASSIGN(auto goal, validate::parse_goal(text));
    goals.push_back(std::move(goal));
  }
  return goals;
}

Status check_goals(const ParsedOptions& options) {
  const auto goals = goals_of(options);
  return goals.ok() ? Status() : Status(goals.error());
}

Result<bool> meets_goals(Context& context, const ParsedOptions& options, std::span<const Run> runs) {
  WM_ASSIGN(const auto goals, goals_of(options));
  if (goals.empty()) return true;
  WM_ASSIGN(const auto rows, validate::judge_goals(goals, runs));
  bool met = true;
  Table table{{{"goal"}, {"workload"}, {"device"}, {"measured", Align::right}, {""}}, {}};
  for (const auto& row : rows) {
    met = met && row.met;
    table.rows.push_back({{row.goal.text},
                          {row.workload},
                          {row.device},
                          {report::format_quantity(row.median, row.unit)},
                          {row.met ? "met" : "missed", row.met ? Tone::good : Tone::bad}});
  }
  context.err << report::render_table(table, render_options(context));
  return met;
}

}  // namespace warpmark::apps
