#include "validate/judge/goals.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::validate {
namespace {

Error no_goal(const std::string& text) {
  return usage_error("--goal " + text + " is not of the form METRIC>=VALUE or METRIC<=VALUE",
                     "--goal 'samples_rate>=5000'");
}

/// "5000", "85%", "75 GB", "170 ms", "2m": the value and its unit, empty of a bare number.
std::optional<std::pair<double, std::string>> value_of(std::string_view text) {
  if (const auto number = parse_number(text); number.ok()) return std::pair(*number, "");
  if (text.ends_with('%')) {
    if (const auto ratio = parse_ratio(text); ratio.ok()) return std::pair(*ratio, "ratio");
  }
  for (const char* unit : {"s", "B", "B/s", "FLOP/s", "J", "W", "Hz"}) {
    if (const auto quantity = parse_quantity(text, unit); quantity.ok()) return std::pair(*quantity, unit);
  }
  if (const auto duration = parse_duration_s(text); duration.ok()) return std::pair(*duration, "s");
  return std::nullopt;
}

/// The metric ids of all runs, for the hint.
std::string metrics_of(std::span<const Run> runs) {
  std::set<std::string> ids;
  for (const auto& run : runs) {
    for (const auto& metric : run.metrics) ids.insert(metric.id);
  }
  return join(std::vector<std::string>(ids.begin(), ids.end()), ", ");
}

}  // namespace

Result<Goal> parse_goal(const std::string& text) {
  const auto at = std::min(text.find(">="), text.find("<="));
  if (at == std::string::npos || at == 0) return no_goal(text);
  const auto value = value_of(trim(std::string_view(text).substr(at + 2)));
  if (!value) return no_goal(text);
  return Goal{.text = text,
              .metric = std::string(trim(std::string_view(text).substr(0, at))),
              .at_least = text[at] == '>',
              .value = value->first,
              .unit = value->second};
}

Result<std::vector<GoalRow>> judge_goals(std::span<const Goal> goals, std::span<const Run> runs) {
  std::vector<GoalRow> rows;
  for (const auto& goal : goals) {
    const std::size_t before = rows.size();
    for (const auto& run : runs) {
      const auto metric = std::find_if(run.metrics.begin(), run.metrics.end(),
                                       [&](const Metric& one) { return one.id == goal.metric; });
      if (metric == run.metrics.end() || metric->samples.empty()) continue;
      // A quality of 0.759 is a plain number.
      const bool fits = goal.unit.empty() || goal.unit == metric->unit || (goal.unit == "ratio" && metric->unit == "1");
      if (!fits) {
        return usage_error(fmt::format("--goal {}: {} is in {}, not in {}", goal.text, goal.metric,
                                       metric->unit.empty() ? "no unit" : metric->unit, goal.unit),
                           fmt::format("--goal '{}{}NUMBER'", goal.metric, goal.at_least ? ">=" : "<="));
      }
      const double median = metric->summary.median;
      rows.push_back({goal, run.workload, run.device, median, metric->unit,
                      goal.at_least ? median >= goal.value : median <= goal.value});
    }
    if (rows.size() == before) {
      return usage_error("--goal " + goal.text + ": no run has a metric '" + goal.metric + "'",
                         "metrics: " + metrics_of(runs));
    }
  }
  return rows;
}

}  // namespace warpmark::validate
