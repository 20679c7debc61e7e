#include "validate/judge/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "stats/summary.h"
#include "stats/tests/rank_and_t_tests.h"
#include "stats/tests/sequential.h"

namespace warpmark::validate {
namespace {

constexpr std::size_t kFewestValues = 3;
constexpr const char* kCheckPrefix = "accuracy check ";

/// Of B - A, each side at alpha; absent where there are too few values.
std::optional<Interval> interval_of(std::span<const double> a, std::span<const double> b,
                                    const VerdictOptions& options) {
  const std::size_t n = std::min(a.size(), b.size());
  if (!options.paired) {
    if (n < kFewestValues) return std::nullopt;
    return stats::welch_t(a, b, 1 - 2 * options.alpha).interval;
  }
  std::vector<double> differences;
  for (std::size_t i = 0; i < n; ++i) differences.push_back(b[i] - a[i]);
  const auto sequential = stats::sequential_t(differences, {.alpha = 2 * options.alpha});
  if (options.sequential || sequential.stdev == 0) return sequential.interval;
  if (n < kFewestValues) return std::nullopt;
  return stats::one_sample_t(differences, 1 - 2 * options.alpha).interval;
}

void judge_command(AccuracyVerdict& verdict, std::span<const double> a, std::span<const double> b) {
  const auto wrong_a = std::count(a.begin(), a.end(), 0.0), wrong_b = std::count(b.begin(), b.end(), 0.0);
  verdict.difference = stats::mean_of(b) - stats::mean_of(a);
  if (b.empty()) {
    verdict.reason = "no run was checked";
  } else if (wrong_b > 0) {
    verdict.outcome = AccuracyOutcome::rejected;
    verdict.reason = fmt::format("{} of {} runs of B are wrong", wrong_b, b.size());
    if (wrong_a > 0) verdict.reason += fmt::format(", as are {} of {} of A", wrong_a, a.size());
  } else {
    verdict.outcome = AccuracyOutcome::accepted;
  }
}

void judge_metric(AccuracyVerdict& verdict, std::span<const double> a, std::span<const double> b,
                  const VerdictOptions& options) {
  const double sign = verdict.better == Better::lower ? -1 : 1;
  verdict.median_a = a.empty() ? 0 : stats::median(a);
  verdict.median_b = b.empty() ? 0 : stats::median(b);
  verdict.difference = stats::mean_of(b) - stats::mean_of(a);
  verdict.interval = interval_of(a, b, options);
  const double allowed = verdict.relative ? verdict.margin * std::fabs(stats::mean_of(a)) : verdict.margin;
  if (!verdict.interval) {
    verdict.reason = fmt::format("{} rounds are too few to decide", std::min(a.size(), b.size()));
    return;
  }
  const double low = sign > 0 ? verdict.interval->low : -verdict.interval->high;
  const double high = sign > 0 ? verdict.interval->high : -verdict.interval->low;
  // With a margin of 0 equal values are accepted.
  if (low > -allowed || (low == 0 && allowed == 0)) {
    verdict.outcome = AccuracyOutcome::accepted;
  } else if (high < -allowed) {
    verdict.outcome = AccuracyOutcome::rejected;
    verdict.reason = fmt::format("{} by {:.4g}, allowed is {:.4g}", sign > 0 ? "lower" : "higher",
                                 std::fabs(verdict.difference), allowed);
  } else {
    verdict.reason = fmt::format("it may be worse by {:.4g}, allowed is {:.4g}; more rounds would decide",
                                 std::max(0.0, -low), allowed);
  }
}

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

std::string check_metric(std::size_t gate) { return fmt::format("{}{}", kCheckPrefix, gate + 1); }

bool is_check_metric(const std::string& id) { return id.starts_with(kCheckPrefix); }

AccuracyVerdict judge_accuracy(const AccuracyGate& gate, const Metric& metric, std::span<const double> a,
                               std::span<const double> b, const VerdictOptions& options) {
  AccuracyVerdict verdict{.name = gate.metric, .unit = metric.unit, .better = metric.better};
  verdict.n = static_cast<std::int64_t>(std::min(a.size(), b.size()));
  if (gate.metric.empty()) {
    verdict.command = true;
    verdict.name = command_line(gate.command);
    judge_command(verdict, a, b);
    return verdict;
  }
  verdict.margin = gate.margin;
  verdict.relative = gate.relative;
  judge_metric(verdict, a, b, options);
  return verdict;
}

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
