// A case over time: one series a machine (or one with marks where the machine changed), drawn with a bounded number of
// points however many there are.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/json.h"
#include "model/fields/fields.h"
#include "model/names.h"
#include "model/trend.h"
#include "report/build/comparison.h"
#include "validate/guard/series.h"
#include "validate/guard/trend.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {
namespace {

using Indices = std::map<std::string, std::int64_t>;  ///< of runs, by session

/// Points [from, to) of a series as one: the median, of several the least and largest too. Opened by a click, it shows
/// the run in its middle.
SeriesPoint bucket(const TrendSeries& series, std::size_t from, std::size_t to, const Indices& indices) {
  std::vector<std::size_t> order;
  for (std::size_t i = from; i < to; ++i) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return series.points[i].point.value; });
  const auto& middle = series.points[order[order.size() / 2]];
  const auto index = indices.find(middle.point.session);
  SeriesPoint point{.session = middle.point.session,
                    .started = middle.point.started,
                    .commit = middle.point.commit,
                    .branch = middle.branch,
                    .index = index == indices.end() ? 0 : index->second,
                    .dirty = middle.point.dirty,
                    .n = middle.point.n,
                    .value = middle.point.value};
  if (to - from > 1) {
    point.count = static_cast<std::int64_t>(to - from);
    point.low = series.points[order.front()].point.value;
    point.high = series.points[order.back()].point.value;
  } else if (middle.interval) {
    point.low = middle.interval->low;
    point.high = middle.interval->high;
  }
  return point;
}

/// Where the buckets begin. A bucket never reaches over a change of level or machine.
std::vector<std::size_t> bucket_starts(const TrendSeries& series, std::size_t most) {
  const std::size_t size = series.points.size();
  std::set<std::size_t> starts;
  const std::size_t width = std::max<std::size_t>(1, (size + most - 1) / most);
  for (std::size_t i = 0; i < size; i += width) starts.insert(i);
  for (const auto& change : series.changes) starts.insert(static_cast<std::size_t>(change.index));
  for (const auto& machine : series.machines) starts.insert(static_cast<std::size_t>(machine.index));
  return {starts.begin(), starts.end()};
}

SeriesOfMachine drawn_series(const TrendSeries& series, std::size_t most, const Indices& indices) {
  const auto starts = bucket_starts(series, most);
  const auto bucket_of = [&](std::int64_t index) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), static_cast<std::size_t>(index));
    return (after - starts.begin()) - 1;
  };
  const auto mark = [&](std::int64_t index) {
    const auto& point = series.points[static_cast<std::size_t>(index)].point;
    return SeriesMark{bucket_of(index), point.session, point.started, point.commit};
  };
  SeriesOfMachine drawn{.label = series.label,
                        .metric = series.metric,
                        .unit = series.unit,
                        .better = series.better,
                        .total = std::ssize(series.points),
                        .machine = series.points.back().machine,
                        .level = series.level};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : series.points.size();
    drawn.points.push_back(bucket(series, starts[i], end, indices));
  }
  for (const auto& change : series.changes) drawn.changes.push_back({mark(change.index), level_change(series, change)});
  for (const auto& machine : series.machines) drawn.machines.push_back({mark(machine.index), machine.what});
  if (series.band) drawn.band = {*series.band, bucket_of(series.band_from)};
  if (series.drift) drawn.drift = {series.drift->per_session, series.drift->interval, series.drift->p};
  return drawn;
}

}  // namespace

LevelChange level_change(const TrendSeries& series, const TrendChange& change) {
  const auto& before = series.points[static_cast<std::size_t>(std::max<std::int64_t>(change.index - 1, 0))].point;
  return {change.before, change.after, change.p, before.commit, change.worse};
}

Result<Json> series_answer(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query,
            Query::parse(text, {"workload", "params", "device", "mode", "metric", "last", "points", "threshold"}));
  const auto mode = value_named<Mode>(query.get("mode"));
  if (query.get("workload").empty() || !mode) {
    return usage_error("a series is of one case: its workload, params, device, mode and metric",
                       "/api/cases lists them");
  }
  store::RunQuery wanted{.workload = query.get("workload"), .device = query.get("device"), .params = {}, .mode = mode};
  wanted.case_params = query.get("params");
  WM_ASSIGN(wanted.limit, query.count("last", 200, 2, 20'000));
  WM_ASSIGN(const auto drawn, query.count("points", 500, 50, 5000));
  WM_ASSIGN(const auto threshold, query.count("threshold", 5, 1, 100));
  wanted.metric = query.get("metric");
  WM_ASSIGN(const auto points, store.find(wanted));
  if (points.empty()) return usage_error("there is no value of this case and metric", "/api/cases lists what there is");
  Indices indices;
  for (const auto& point : points) indices.emplace(point.session, point.index);
  WM_ASSIGN(
      const auto trends,
      validate::trends_of_points(
          store, points,
          {.metrics = {}, .branch = {}, .last = wanted.limit, .threshold = static_cast<double>(threshold) / 100}));
  const auto& first = points.front();
  SeriesPage page{.label = validate::case_label(first.workload, first.params, first.device, first.mode),
                  .metric = first.metric};
  for (const auto& trend : trends) page.series.push_back(drawn_series(trend, static_cast<std::size_t>(drawn), indices));
  wanted.metric = "*";
  wanted.limit = 32;  // the metrics of the newest runs
  WM_ASSIGN(const auto newest, store.find(wanted));
  std::set<std::string> metrics;
  for (const auto& point : newest) metrics.insert(point.metric);
  page.metrics.assign(metrics.begin(), metrics.end());
  return write(kSeriesPage, page);
}

Result<Json> pair_answer(store::Store& store, const CompareSessions& compare, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"a", "b"}));
  if (query.get("a").empty() || query.get("b").empty()) {
    return usage_error("two sessions are compared", "?a=ID&b=ID");
  }
  WM_ASSIGN(const auto pair, compare(store, query.get("a"), query.get("b")));
  const auto side = [](const Session& session) {
    return PairSide{session.id,     session.started,          session.commit,
                    session.branch, session.machine.hostname, session.dirty};
  };
  return write(kPairPage, PairPage{side(pair.a), side(pair.b), pair.not_compared, pair.comparison,
                                   shown_report(report::build_report(pair.comparison))});
}

}  // namespace warpmark::watch
