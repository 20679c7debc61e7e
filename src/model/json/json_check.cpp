// Check as JSON, "warpmark.check/1". Written only: a check is an end product.
#include "base/json.h"
#include "model/check.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

Json point_json(const HistoryPoint& point) {
  Json json{{"session", point.session}, {"n", point.n}, {"value", finite_number(point.value)}};
  put_text(json, "started", point.started);
  put_text(json, "commit", point.commit);
  if (point.dirty) json["dirty"] = true;
  return json;
}

Json points_json(const std::vector<HistoryPoint>& points) {
  Json json = Json::array();
  for (const auto& point : points) json.push_back(point_json(point));
  return json;
}

Json restart_json(const Restart& restart) {
  return {{"at", point_json(restart.at)},
          {"change", finite_number(restart.change)},
          {"worse", restart.worse},
          {"sessions_since", restart.ago}};
}

Json metric_json(const MetricCheck& metric) {
  Json json{{"case", metric.label},
            {"metric", metric.metric},
            {"unit", metric.unit},
            {"better", name_of(metric.better)},
            {"verdict", name_of(metric.verdict)}};
  put_text(json, "reason", metric.reason);
  if (metric.more_runs) json["more_runs"] = *metric.more_runs;
  json["level_sessions"] = metric.level_sessions;
  put_optional(json, "level", metric.level);
  put_optional(json, "value", metric.value);
  put_optional(json, "ratio", metric.ratio);
  put_interval(json, metric.interval);
  put_optional(json, "p", metric.p);
  put_optional(json, "adjusted_p", metric.adjusted_p);
  put_optional(json, "noise", metric.noise);
  put_optional(json, "detectable", metric.detectable);
  if (metric.restart) json["restart"] = restart_json(*metric.restart);
  json["baseline"] = points_json(metric.baseline);
  json["current"] = points_json(metric.current);
  return json;
}

Json suspects_json(const Suspects& suspects) {
  Json json{{"metric", suspects.metric}};
  put_text(json, "good", suspects.good);
  put_text(json, "bad", suspects.bad);
  put_text(json, "reason", suspects.reason);
  json["commits"] = Json::array();
  for (const auto& commit : suspects.commits) json["commits"].push_back(to_json(commit));
  if (!suspects.search) return json;
  const Bisection& search = *suspects.search;
  json["culprit_certain"] = search.outcome == BisectOutcome::found;
  if (search.candidates.size() == 1) json["culprit"] = to_json(search.candidates.front());
  json["search"] = to_json(search);
  return json;
}

}  // namespace

Verdict overall(const Check& check) {
  for (const Verdict verdict : {Verdict::unreliable, Verdict::worse, Verdict::inconclusive, Verdict::different,
                                Verdict::better, Verdict::same}) {
    for (const auto& metric : check.metrics) {
      if (metric.verdict == verdict) return verdict;
    }
  }
  return Verdict::inconclusive;
}

Json to_json(const Check& check) {
  Json json{{"schema", kCheckSchema}, {"command", check.command}, {"verdict", name_of(overall(check))}};
  json["baseline"] = check.branch;
  json["threshold"] = finite_number(check.threshold);
  json["alpha"] = finite_number(check.alpha);
  json["tested"] = check.tested;
  json["sessions"] = check.sessions;
  json["started"] = check.started;
  put_text(json, "commit", check.commit);
  put_text(json, "branch", check.commit_branch);
  json["dirty"] = check.dirty;
  json["metrics"] = Json::array();
  for (const auto& metric : check.metrics) json["metrics"].push_back(metric_json(metric));
  json["missing"] = check.missing;
  put_text(json, "moved", check.moved);
  if (!check.advice.empty()) json["advice"] = check.advice;
  if (check.suspects) json["suspects"] = suspects_json(*check.suspects);
  json["disturbances"] = disturbances_json(check.disturbances);
  json["machine"] = to_json(check.machine);
  json["build"] = to_json(check.build);
  return json;
}

}  // namespace warpmark
