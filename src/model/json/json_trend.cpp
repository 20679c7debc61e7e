// Trend as JSON, "warpmark.trend/1". Written only.
#include "base/json.h"
#include "model/json/json_fields.h"
#include "model/names.h"
#include "model/trend.h"

namespace warpmark {
namespace {

Json point_json(const TrendPoint& item) {
  Json json{{"session", item.point.session}, {"n", item.point.n}, {"value", finite_number(item.point.value)}};
  put_text(json, "started", item.point.started);
  put_text(json, "commit", item.point.commit);
  put_text(json, "branch", item.branch);
  if (item.point.dirty) json["dirty"] = true;
  put_text(json, "machine", item.machine);
  if (item.interval) {
    json["ci_low"] = finite_number(item.interval->low);
    json["ci_high"] = finite_number(item.interval->high);
  }
  return json;
}

Json change_json(const TrendChange& change) {
  Json json{{"index", change.index},
            {"before", finite_number(change.before)},
            {"after", finite_number(change.after)},
            {"p", finite_number(change.p)}};
  if (change.worse) json["worse"] = *change.worse;
  return json;
}

Json drift_json(const TrendDrift& drift) {
  Json json{{"from", drift.from},
            {"per_session", finite_number(drift.per_session)},
            {"per_session_low", finite_number(drift.interval.low)},
            {"per_session_high", finite_number(drift.interval.high)},
            {"confidence", finite_number(drift.interval.confidence)},
            {"change", finite_number(drift.change)},
            {"change_low", finite_number(drift.change_interval.low)},
            {"change_high", finite_number(drift.change_interval.high)},
            {"p", finite_number(drift.p)},
            {"marked", drift.marked}};
  if (drift.worse) json["worse"] = *drift.worse;
  return json;
}

Json series_json(const TrendSeries& series) {
  Json json{{"case", series.label},
            {"metric", series.metric},
            {"unit", series.unit},
            {"better", name_of(series.better)},
            {"points", Json::array()},
            {"changes", Json::array()},
            {"machine_changes", Json::array()}};
  for (const auto& point : series.points) json["points"].push_back(point_json(point));
  for (const auto& change : series.changes) json["changes"].push_back(change_json(change));
  for (const auto& change : series.machines) {
    json["machine_changes"].push_back({{"index", change.index}, {"what", change.what}});
  }
  if (series.drift) json["drift"] = drift_json(*series.drift);
  put_optional(json, "level", series.level);
  if (series.band) {
    json["band"] = {{"from", series.band_from},
                    {"low", finite_number(series.band->low)},
                    {"high", finite_number(series.band->high)},
                    {"confidence", finite_number(series.band->confidence)}};
  }
  return json;
}

}  // namespace

Json to_json(const Trend& trend) {
  Json json{{"schema", kTrendSchema}, {"command", trend.command}, {"threshold", finite_number(trend.threshold)}};
  put_text(json, "branch", trend.branch);
  if (!trend.left_out.empty()) json["left_out"] = trend.left_out;
  put_text(json, "since", trend.since);
  put_text(json, "until", trend.until);
  json["series"] = Json::array();
  for (const auto& series : trend.series) json["series"].push_back(series_json(series));
  return json;
}

}  // namespace warpmark
