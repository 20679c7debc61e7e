// A case over time: one series a machine (or one with marks where the machine changed), drawn with a bounded number of
// points however many there are.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/json.h"
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
Json bucket_json(const TrendSeries& series, std::size_t from, std::size_t to, const Indices& indices) {
  std::vector<std::size_t> order;
  for (std::size_t i = from; i < to; ++i) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return series.points[i].point.value; });
  const auto& middle = series.points[order[order.size() / 2]];
  const auto index = indices.find(middle.point.session);
  Json json{{"session", middle.point.session},
            {"index", index == indices.end() ? 0 : index->second},
            {"started", middle.point.started},
            {"commit", middle.point.commit},
            {"branch", middle.branch},
            {"dirty", middle.point.dirty},
            {"n", middle.point.n},
            {"value", middle.point.value}};
  if (to - from == 1) {
    if (middle.interval) json.update({{"low", middle.interval->low}, {"high", middle.interval->high}});
  } else {
    json.update({{"count", to - from},
                 {"low", series.points[order.front()].point.value},
                 {"high", series.points[order.back()].point.value}});
  }
  return json;
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

Json series_json(const TrendSeries& series, std::size_t most, const Indices& indices) {
  const auto starts = bucket_starts(series, most);
  const auto bucket_of = [&](std::int64_t index) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), static_cast<std::size_t>(index));
    return (after - starts.begin()) - 1;
  };
  const auto at = [&](std::int64_t index) {
    const auto& point = series.points[static_cast<std::size_t>(index)].point;
    return Json{
        {"at", bucket_of(index)}, {"session", point.session}, {"started", point.started}, {"commit", point.commit}};
  };
  Json points = Json::array(), changes = Json::array(), machines = Json::array();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : series.points.size();
    points.push_back(bucket_json(series, starts[i], end, indices));
  }
  for (const auto& change : series.changes) {
    Json json = at(change.index);
    const auto& before = series.points[static_cast<std::size_t>(std::max<std::int64_t>(change.index - 1, 0))].point;
    json.update({{"before", change.before}, {"after", change.after}, {"p", change.p}, {"good_commit", before.commit}});
    if (change.worse) json["worse"] = *change.worse;
    changes.push_back(std::move(json));
  }
  for (const auto& machine : series.machines) {
    Json json = at(machine.index);
    json["what"] = machine.what;
    machines.push_back(std::move(json));
  }
  Json json{
      {"label", series.label},           {"metric", series.metric},          {"unit", series.unit},
      {"total", series.points.size()},   {"points", std::move(points)},      {"changes", std::move(changes)},
      {"machines", std::move(machines)}, {"better", name_of(series.better)}, {"machine", series.points.back().machine}};
  if (series.level) json["level"] = *series.level;
  if (series.band) {
    json["band"] = {{"low", series.band->low}, {"high", series.band->high}, {"from", bucket_of(series.band_from)}};
  }
  if (series.drift) {
    json["drift"] = {{"per_session", series.drift->per_session},
                     {"low", series.drift->interval.low},
                     {"high", series.drift->interval.high},
                     {"p", series.drift->p}};
  }
  return json;
}

}  // namespace

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
  Json series = Json::array();
  for (const auto& trend : trends) series.push_back(series_json(trend, static_cast<std::size_t>(drawn), indices));
  wanted.metric = "*";
  wanted.limit = 32;  // the metrics of the newest runs
  WM_ASSIGN(const auto newest, store.find(wanted));
  std::set<std::string> metrics;
  for (const auto& point : newest) metrics.insert(point.metric);
  const auto& first = points.front();
  return Json{{"schema", "warpmark.series/1"},
              {"label", validate::case_label(first.workload, first.params, first.device, first.mode)},
              {"metric", first.metric},
              {"metrics", metrics},
              {"series", std::move(series)}};
}

Result<Json> pair_answer(store::Store& store, const CompareSessions& compare, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"a", "b"}));
  if (query.get("a").empty() || query.get("b").empty()) {
    return usage_error("two sessions are compared", "?a=ID&b=ID");
  }
  WM_ASSIGN(const auto pair, compare(store, query.get("a"), query.get("b")));
  const auto header = [](const Session& session) {
    return Json{{"id", session.id},         {"started", session.started}, {"commit", session.commit},
                {"branch", session.branch}, {"dirty", session.dirty},     {"hostname", session.machine.hostname}};
  };
  return Json{{"schema", "warpmark.pair/1"},
              {"a", header(pair.a)},
              {"b", header(pair.b)},
              {"not_compared", pair.not_compared},
              {"verdict", name_of(overall(pair.comparison))},
              {"comparison", warpmark::to_json(pair.comparison)},
              {"report", shown_json(report::build_report(pair.comparison))}};
}

}  // namespace warpmark::watch
