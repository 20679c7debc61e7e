// Comparison as JSON, "warpmark.compare/1". Written only: a comparison is an end product, its samples are kept in it.
#include "model/comparison.h"

#include <algorithm>

#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"
#include "model/price/price.h"

namespace warpmark {
namespace {

Json numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(finite_number(value));
  return json;
}

Json metric_json(const MetricVerdict& metric) {
  Json json{{"id", metric.id}, {"unit", metric.unit}, {"better", name_of(metric.better)}};
  json["verdict"] = name_of(metric.verdict);
  put_text(json, "reason", metric.reason);
  if (metric.more_rounds) json["more_rounds"] = *metric.more_rounds;
  put_optional(json, "decidable_effect", metric.decidable_effect);
  if (metric.beside) json["beside"] = true;
  json["n_a"] = metric.a.size();
  json["n_b"] = metric.b.size();
  if (!metric.a.empty()) json["median_a"] = finite_number(metric.median_a);
  if (!metric.b.empty()) json["median_b"] = finite_number(metric.median_b);
  put_optional(json, "ratio", metric.ratio);
  put_interval(json, metric.interval);
  if (metric.unit == "s" && metric.ratio && *metric.ratio > 0) json["speedup"] = finite_number(1 / *metric.ratio);
  if (metric.unit == "B" && !metric.a.empty() && !metric.b.empty()) {
    json["saved_bytes"] = finite_number(metric.median_a - metric.median_b);
  }
  put_optional(json, "p", metric.p);
  put_optional(json, "adjusted_p", metric.adjusted_p);
  json["tests"] = Json::array();
  for (const auto& test : metric.tests) {
    Json item{{"name", test.name}, {"p", finite_number(test.p)}};
    put_optional(item, "estimate", test.estimate);
    put_interval(item, test.interval);
    json["tests"].push_back(std::move(item));
  }
  json["a"] = numbers(metric.a);
  json["b"] = numbers(metric.b);
  return json;
}

Json accuracy_json(const AccuracyVerdict& verdict) {
  Json json{{"name", verdict.name}, {"kind", verdict.command ? "command" : "metric"}};
  json["outcome"] = name_of(verdict.outcome);
  put_text(json, "reason", verdict.reason);
  json["n"] = verdict.n;
  json["difference"] = finite_number(verdict.difference);
  if (verdict.command) return json;
  json["unit"] = verdict.unit;
  json["better"] = name_of(verdict.better);
  json["margin"] = finite_number(verdict.margin);
  json["relative"] = verdict.relative;
  json["median_a"] = finite_number(verdict.median_a);
  json["median_b"] = finite_number(verdict.median_b);
  put_interval(json, verdict.interval);
  return json;
}

Json calibration_json(const MetricCalibration& calibration) {
  Json json{{"id", calibration.id},
            {"spread", finite_number(calibration.spread)},
            {"false_positive_rate", finite_number(calibration.false_positive_rate)},
            {"detectable", finite_number(calibration.detectable)},
            {"rounds_for_effect", calibration.rounds_for_effect}};
  put_optional(json, "autocorrelation", calibration.autocorrelation);
  return json;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better: return "better";
    case Verdict::same: return "same";
    case Verdict::worse: return "worse";
    case Verdict::different: return "different";
    case Verdict::inconclusive: return "inconclusive";
    case Verdict::unreliable: return "unreliable";
  }
  WM_CHECK(false);
  return "";
}

const char* name_of(Interleave interleave) {
  switch (interleave) {
    case Interleave::pair: return "pair";
    case Interleave::block: return "block";
    case Interleave::none: return "none";
  }
  WM_CHECK(false);
  return "";
}

const char* name_of(AccuracyOutcome outcome) {
  switch (outcome) {
    case AccuracyOutcome::accepted: return "accepted";
    case AccuracyOutcome::rejected: return "rejected";
    case AccuracyOutcome::inconclusive: return "inconclusive";
  }
  WM_CHECK(false);
  return "";
}

bool accuracy_rejected(const Comparison& comparison) {
  return std::any_of(comparison.accuracy.begin(), comparison.accuracy.end(),
                     [](const AccuracyVerdict& gate) { return gate.outcome == AccuracyOutcome::rejected; });
}

Verdict overall(const Comparison& comparison) {
  for (const Verdict verdict : {Verdict::unreliable, Verdict::worse, Verdict::inconclusive, Verdict::different,
                                Verdict::better, Verdict::same}) {
    for (const auto& metric : comparison.metrics) {
      if (metric.verdict == verdict && !metric.beside) return verdict;
    }
    for (const auto& gate : comparison.accuracy) {
      if (verdict == Verdict::inconclusive && gate.outcome == AccuracyOutcome::inconclusive) return verdict;
    }
  }
  return Verdict::inconclusive;
}

Json to_json(const Comparison& comparison) {
  Json json{{"schema", kCompareSchema}, {"id", comparison.id}, {"started", comparison.started}};
  json["command"] = comparison.command;
  json["a"] = comparison.name_a;
  json["b"] = comparison.name_b;
  const Verdict verdict = overall(comparison);
  json["verdict"] = verdict != Verdict::unreliable && accuracy_rejected(comparison) ? "rejected" : name_of(verdict);
  json["effect"] = finite_number(comparison.effect);
  json["alpha"] = finite_number(comparison.alpha);
  json["paired"] = comparison.paired;
  json["sequential"] = comparison.sequential;
  json["interleave"] = name_of(comparison.interleave);
  json["seed"] = std::to_string(comparison.seed);
  json["rounds"] = comparison.rounds;
  put_text(json, "stopped_because", comparison.stopped_because);
  json["metrics"] = Json::array();
  for (const auto& metric : comparison.metrics) {
    json["metrics"].push_back(metric_json(metric));
    put_optional(json["metrics"].back(), "per_price", performance_per_price(comparison, metric));
  }
  put_text(json, "machine_a", comparison.machine_a);
  put_text(json, "machine_b", comparison.machine_b);
  put_optional(json, "price_a", comparison.price_a);
  put_optional(json, "price_b", comparison.price_b);
  if (const auto saving = monthly_saving(comparison)) json["monthly"] = to_json(*saving);
  if (!comparison.accuracy.empty()) {
    json["accuracy"] = Json::array();
    for (const auto& gate : comparison.accuracy) json["accuracy"].push_back(accuracy_json(gate));
  }
  json["disturbances"] = disturbances_json(comparison.disturbances);
  if (!comparison.calibration.empty()) {
    json["calibration"] = Json::array();
    for (const auto& item : comparison.calibration) json["calibration"].push_back(calibration_json(item));
  }
  json["samples"] = Json::array();
  for (const auto& sample : comparison.samples) {
    Json item{{"variant", sample.variant == 0 ? "a" : "b"}, {"round", sample.round}};
    put_text(item, "started", sample.started);
    item["values"] = numbers(sample.values);
    json["samples"].push_back(std::move(item));
  }
  json["machine"] = to_json(comparison.machine);
  json["build"] = to_json(comparison.build);
  return json;
}

}  // namespace warpmark
