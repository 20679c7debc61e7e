#include "validate/guard/trend.h"

#include <cmath>

#include "stats/change_points.h"
#include "stats/distributions.h"
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

}  // namespace

void mark_changes(TrendSeries& series, double threshold) {
  std::int64_t begin = 0;
  for (const auto& machine : series.machines) {
    add_changes(series, begin, machine.index, threshold);
    begin = machine.index;
  }
  const auto end = static_cast<std::int64_t>(series.points.size());
  add_changes(series, begin, end, threshold);
  if (end > begin) add_band(series, begin);
}

}  // namespace warpmark::validate
