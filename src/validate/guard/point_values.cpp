#include "validate/guard/point_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/beside.h"
#include "model/names.h"
#include "model/run_query.h"
#include "validate/guard/series.h"

namespace warpmark::validate {
namespace {

/// The same case of the baseline; of several of one name the one in the same place. Two files of one result each are
/// compared whatever they call it.
const Run* baseline_run_of(const Session& baseline, const Session& now, const Run& run) {
  if (baseline.runs.size() == 1 && now.runs.size() == 1) return &baseline.runs.front();
  std::size_t place = 0;
  for (const Run& other : now.runs) {
    if (&other == &run) break;
    if (same_case(other, run)) ++place;
  }
  for (const Run& other : baseline.runs) {
    if (same_case(other, run) && place-- == 0) return &other;
  }
  return nullptr;
}

Verdict verdict_of(double ratio, Better better, double threshold) {
  const double change = ratio - 1;
  if (std::fabs(change) < threshold) return Verdict::same;
  switch (better) {
    case Better::lower: return change > 0 ? Verdict::worse : Verdict::better;
    case Better::higher: return change < 0 ? Verdict::worse : Verdict::better;
    case Better::neither: return Verdict::different;
  }
  return Verdict::different;
}

void judge_value(MetricCheck& metric, const Run& run, double threshold) {
  if (!is_measured(run.outcome)) {
    metric.reason = fmt::format("{}: {}", name_of(run.outcome), run.reason);
  } else if (metric.current.empty()) {
    metric.reason = "it was not measured now";
  } else if (!(*metric.level > 0 && *metric.value > 0)) {
    metric.reason = "a change in percent needs values above 0";
    if (*metric.level == *metric.value) metric.verdict = Verdict::same;
  } else {
    metric.ratio = *metric.value / *metric.level;
    metric.verdict = verdict_of(*metric.ratio, metric.better, threshold);
  }
}

}  // namespace

Result<Check> check_point_values(const Session& baseline, const Session& now, const PointOptions& options) {
  Check check{.branch = options.name, .threshold = options.threshold, .tested = false};
  check.sessions = {now.id};
  check.started = now.started;
  check.commit = now.commit;
  check.commit_branch = now.branch;
  check.dirty = now.dirty;
  check.machine = now.machine;
  check.build = now.build;
  for (const Run& run : now.runs) {
    const Run* before = baseline_run_of(baseline, now, run);
    if (before == nullptr) continue;
    for (const Metric& metric : before->metrics) {
      if (metric.summary.n == 0 || !matches_series(options.metrics, case_label(run), metric.id)) continue;
      if (options.metrics.empty() && is_beside(metric.id)) continue;
      MetricCheck judged{.label = case_label(run), .metric = metric.id, .unit = metric.unit, .better = metric.better};
      judged.baseline = {to_history_point(baseline, metric)};
      judged.level = metric.summary.median;
      judged.level_sessions = 1;
      if (const Metric* current = metric_of(run, metric.id); current != nullptr) {
        judged.current = {to_history_point(now, *current)};
        judged.value = current->summary.median;
      }
      judge_value(judged, run, options.threshold);
      check.metrics.push_back(std::move(judged));
    }
  }
  if (check.metrics.empty()) {
    return usage_error("the results and the baseline have no metric in common" +
                           (options.metrics.empty() ? std::string() : " that matches " + options.metrics),
                       "warpmark report FILE shows what a file holds");
  }
  for (const Run& run : baseline.runs) {
    const bool here = std::any_of(now.runs.begin(), now.runs.end(),
                                  [&](const Run& other) { return baseline_run_of(baseline, now, other) == &run; });
    if (!here) check.missing.push_back(case_label(run));
  }
  if (const auto what = machine_differences(now.machine, baseline.machine); !what.empty()) {
    check.disturbances.push_back({.id = "machine", .cause = "The machines differ: " + what});
  }
  return check;
}

}  // namespace warpmark::validate
