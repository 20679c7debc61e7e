// Bisection as JSON, "warpmark.bisect/1". Written only.
#include "base/json.h"
#include "model/bisection.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

Json change_json(const MetricVerdict& metric) {
  Json json{{"verdict", name_of(metric.verdict)}};
  put_text(json, "reason", metric.reason);
  json["rounds"] = metric.a.size();
  json["median_a"] = finite_number(metric.median_a);
  json["median_b"] = finite_number(metric.median_b);
  put_optional(json, "ratio", metric.ratio);
  put_interval(json, metric.interval);
  put_optional(json, "p", metric.p);
  return json;
}

Json probe_json(const BisectProbe& probe) {
  Json json{{"index", probe.index}, {"commit", to_json(probe.commit)}, {"answer", name_of(probe.answer)}};
  json["rounds"] = probe.rounds;
  json["bad_probability"] = finite_number(probe.bad_probability);
  put_optional(json, "ratio_to_good", probe.ratio_to_good);
  put_text(json, "reason", probe.reason);
  return json;
}

}  // namespace

Json to_json(const Commit& commit) {
  Json json{{"sha", commit.sha}, {"author", commit.author}, {"date", commit.date}, {"subject", commit.subject}};
  put_text(json, "merged", commit.merged);
  return json;
}

const char* name_of(BisectOutcome outcome) {
  switch (outcome) {
    case BisectOutcome::found: return "found";
    case BisectOutcome::range: return "range";
    case BisectOutcome::no_difference: return "no_difference";
    case BisectOutcome::inconclusive: return "inconclusive";
  }
  WM_CHECK(false);
  return "";
}

const char* name_of(ProbeAnswer answer) {
  switch (answer) {
    case ProbeAnswer::good: return "good";
    case ProbeAnswer::bad: return "bad";
    case ProbeAnswer::undecided: return "undecided";
    case ProbeAnswer::skipped: return "skipped";
  }
  WM_CHECK(false);
  return "";
}

Json to_json(const Bisection& bisection) {
  Json json{{"schema", kBisectSchema}, {"started", bisection.started}, {"command", bisection.command}};
  json["good"] = to_json(bisection.good);
  json["bad"] = to_json(bisection.bad);
  json["commits"] = bisection.commits;
  json["metric"] =
      Json{{"id", bisection.range.id}, {"unit", bisection.range.unit}, {"better", name_of(bisection.range.better)}};
  json["effect"] = finite_number(bisection.effect);
  json["alpha"] = finite_number(bisection.alpha);
  json["confidence"] = finite_number(bisection.confidence);
  json["seed"] = std::to_string(bisection.seed);
  json["outcome"] = name_of(bisection.outcome);
  json["candidates"] = Json::array();
  for (const auto& commit : bisection.candidates) json["candidates"].push_back(to_json(commit));
  json["probability"] = finite_number(bisection.probability);
  json["range"] = change_json(bisection.range);
  if (bisection.change) {
    json["change"] = change_json(*bisection.change);
    json["change"]["a"] = bisection.change_a;
    json["change"]["b"] = bisection.change_b;
  }
  json["probes"] = Json::array();
  for (const auto& probe : bisection.probes) json["probes"].push_back(probe_json(probe));
  json["disturbances"] = disturbances_json(bisection.disturbances);
  json["builds"] = bisection.builds;
  json["runs"] = bisection.runs;
  json["history_points"] = bisection.history_points;
  put_text(json, "stopped_because", bisection.stopped_because);
  json["machine"] = to_json(bisection.machine);
  json["build"] = to_json(bisection.build);
  return json;
}

}  // namespace warpmark
