#include "validate/guard/trend.h"

#include <cmath>

#include "stats/change_points.h"
#include "stats/distributions.h"
#include "stats/drift.h"
#include "stats/tests/log_ratio.h"
#include "validate/guard/regression.h"

namespace warpmark::validate {
namespace {

constexpr double kBandConfidence = 0.95;

void add_changes(TrendSeries& series, std::int64_t begin, std::int64_t end, double threshold) {
  std::vector<double> values;
  for (std::int64_t i = begin; i < end; ++i) {
    const double value = series.points[static_cast<std::size_t>(i)].point.value;
    if (!std::isfinite(value)) return;
    values.push_back(value);
  }
  for (const auto& found : stats::change_points(values, {.min_magnitude = threshold})) {
    TrendChange change{
        .index = begin + found.index, .before = found.mean_before, .after = found.mean_after, .p = found.p};
    if (series.better != Better::neither) {
      change.worse = (found.mean_after > found.mean_before) == (series.better == Better::lower);
    }
    series.changes.push_back(change);
  }
}

/// The prediction interval of a check for a session that lies at the level.
void add_band(TrendSeries& series, std::int64_t begin) {
  std::vector<double> values;
  std::vector<std::int64_t> breaks;
  for (std::size_t i = static_cast<std::size_t>(begin); i < series.points.size(); ++i) {
    values.push_back(series.points[i].point.value);
  }
  for (const auto& change : series.changes) {
    if (change.index >= begin) breaks.push_back(change.index - begin);
  }
  series.band_from = begin + (breaks.empty() ? 0 : breaks.back());
  const auto step = step_from(values, breaks, std::vector<double>{1});
  if (!step.undefined.empty()) return;
  const double level = std::exp(step.level);
  const double half = stats::t_quantile_of_tail((1 - kBandConfidence) / 2, step.degrees) * step.error;
  series.level = level;
  series.band = Interval{level * stats::ratio_of_log(-half), level * stats::ratio_of_log(half), kBandConfidence};
}

/// Over all of the newest machine where a line tells it better than its steps, else since the newest step.
void add_drift(TrendSeries& series, std::int64_t begin, double threshold) {
  std::vector<double> logs;
  for (std::size_t i = static_cast<std::size_t>(begin); i < series.points.size(); ++i) {
    const double value = series.points[i].point.value;
    if (!(value > 0) || !std::isfinite(value)) return;
    logs.push_back(std::log(value));
  }
  std::vector<std::int64_t> breaks;
  for (const auto& change : series.changes) {
    if (change.index > begin) breaks.push_back(change.index - begin);
  }
  std::size_t first = 0;
  if (!breaks.empty() && !stats::creeps_rather_than_steps(logs, breaks))
    first = static_cast<std::size_t>(breaks.back());
  const auto found = stats::drift_of(std::span(logs).subspan(first), kBandConfidence);
  if (!found) return;
  const auto steps = static_cast<double>(found->n - 1);
  const auto ratio = [](double log) { return stats::change_of_log(log); };
  TrendDrift drift{
      .from = static_cast<std::int64_t>(series.points.size()) - found->n,
      .per_session = ratio(found->slope),
      .interval = {ratio(found->interval.low), ratio(found->interval.high), kBandConfidence},
      .change = ratio(found->slope * steps),
      .change_interval = {ratio(found->interval.low * steps), ratio(found->interval.high * steps), kBandConfidence},
      .p = found->p};
  if (series.better != Better::neither) drift.worse = (drift.change > 0) == (series.better == Better::lower);
  const bool certain = found->interval.low > 0 || found->interval.high < 0;
  drift.marked = certain && std::fabs(drift.change) >= threshold;
  series.drift = drift;
}

}  // namespace

void find_changes(TrendSeries& series, double threshold) {
  std::int64_t begin = 0;
  for (const auto& machine : series.machines) {
    add_changes(series, begin, machine.index, threshold);
    begin = machine.index;
  }
  add_changes(series, begin, static_cast<std::int64_t>(series.points.size()), threshold);
}

void mark_changes(TrendSeries& series, double threshold) {
  find_changes(series, threshold);
  const std::int64_t begin = series.machines.empty() ? 0 : series.machines.back().index;
  if (static_cast<std::int64_t>(series.points.size()) <= begin) return;
  add_band(series, begin);
  add_drift(series, begin, threshold);
}

}  // namespace warpmark::validate
