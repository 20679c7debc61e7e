#include "serving/results/load_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace warpmark::serving {
namespace {

constexpr const char* kRatesDefinition =
    "per second of the window; a request counts with the share of its time from sending to its last token that lies in "
    "it, tokens by when they arrived";

const char* name_of(Better better) {
  if (better == Better::lower) return "lower";
  return better == Better::higher ? "higher" : "neither";
}

void add_interval(Json& json, const std::optional<Interval>& interval) {
  if (!interval) return;
  json["low"] = interval->low;
  json["high"] = interval->high;
  json["confidence"] = interval->confidence;
}

/// Those that `load compare` looks at.
bool keeps_samples(const LoadMetric& metric) {
  constexpr const char* kKept[] = {"ttft",    "tpot",         "e2e", "request_throughput", "output_throughput",
                                   "goodput", "output_tokens"};
  const bool of_turn = metric.id.find("_turn_") != std::string::npos;
  return !metric.samples.empty() &&
         (of_turn || std::any_of(std::begin(kKept), std::end(kKept), [&](const char* id) { return metric.id == id; }));
}

Json to_json(const LoadMetric& metric) {
  Json json{{"unit", metric.unit}, {"better", name_of(metric.better)}, {"n", metric.n}, {"mean", metric.mean}};
  if (metric.mean_interval) {
    json["mean_interval"] = Json::object();
    add_interval(json["mean_interval"], metric.mean_interval);
  }
  if (keeps_samples(metric)) json["samples"] = metric.samples;
  json["stdev"] = metric.stdev;
  json["min"] = metric.min;
  json["max"] = metric.max;
  if (metric.percentiles.empty()) return json;
  json["interval_method"] = metric.interval_method;
  Json percentiles = Json::object();
  for (const auto& percentile : metric.percentiles) {
    Json entry = Json::object();
    if (percentile.value) entry["value"] = *percentile.value;
    add_interval(entry, percentile.interval);
    if (!percentile.reason.empty()) entry["reason"] = percentile.reason;
    percentiles[percentile_name(percentile.p)] = std::move(entry);
  }
  json["percentiles"] = std::move(percentiles);
  return json;
}

Json to_json(const ClientReport& client) {
  const auto lag = [](double p50, double p99, double most) { return Json{{"p50", p50}, {"p99", p99}, {"max", most}}; };
  Json json{{"verdict", client.verdict()},
            {"reasons", client.reasons},
            {"lag",
             {{"unit", "s"},
              {"send", lag(client.send_lag_p50_s, client.send_lag_p99_s, client.send_lag_max_s)},
              {"receive", lag(client.receive_lag_p50_s, client.receive_lag_p99_s, client.receive_lag_max_s)}}},
            {"kernel_receive_times", client.kernel_times},
            {"busy_share", client.busy_share},
            {"cpu_s", client.cpu_s}};
  for (const auto& share : client.shares) {
    json["clients"].push_back({{"host", share.host}, {"requests", share.requests}});
  }
  return json;
}

Json to_json(const TokenCheck& tokens) {
  Json json{{"source", tokens.source}};
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) json[key] = *value;
  };
  add("input_asked_mean", tokens.input_asked);
  add("input_told_mean", tokens.input_told);
  add("output_asked_mean", tokens.output_asked);
  add("output_told_mean", tokens.output_told);
  add("tokens_per_event", tokens.tokens_per_event);
  json["disagreements"] = tokens.disagreements;
  if (!tokens.own) return json;
  const OwnTokens& own = *tokens.own;
  json["own"] = {{"tokenizer", own.tokenizer}, {"tokens", own.tokens}, {"seconds", own.seconds}};
  if (own.input) json["own"]["input_mean"] = *own.input;
  if (own.input) json["own"]["template_tokens"] = own.template_tokens;
  if (own.output) json["own"]["output_mean"] = *own.output;
  return json;
}

Json to_json(const PromptCheck& prompts) {
  Json json{{"kind", prompts.kind}, {"seed", prompts.seed}, {"repeats", prompts.repeats}};
  if (prompts.cached) json["cached_share"] = *prompts.cached;
  if (!prompts.warning.empty()) json["warning"] = prompts.warning;
  return json;
}

Json to_json(const SloOutcome& outcome) {
  Json json{{"objective", outcome.text}, {"verdict", outcome.verdict}};
  if (!outcome.reason.empty()) json["reason"] = outcome.reason;
  if (outcome.value) json["value"] = *outcome.value;
  add_interval(json, outcome.interval);
  return json;
}

Json to_json(const MlperfVerdict& verdict) {
  Json json{{"scenario", verdict.scenario}, {"result", verdict.valid ? "VALID" : "INVALID"},
            {"metric", verdict.metric},     {"unit", verdict.unit},
            {"queries", verdict.queries},   {"duration_s", verdict.duration_s},
            {"checks", Json::array()}};
  if (verdict.value) json["value"] = *verdict.value;
  if (verdict.estimate) json["early_stopping_estimate"] = *verdict.estimate;
  for (const auto& check : verdict.checks) {
    json["checks"].push_back({{"name", check.name}, {"met", check.met}, {"text", check.text}});
  }
  return json;
}

}  // namespace

std::string percentile_name(double p) { return fmt::format("p{:g}", std::round(p * 1e6) / 1e4); }

const LoadMetric* metric_of(const ScenarioResult& result, std::string_view id) {
  const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                  [&](const LoadMetric& metric) { return metric.id == id; });
  return found == result.metrics.end() ? nullptr : &*found;
}

const Percentile* percentile_of(const LoadMetric& metric, double p) {
  const auto found = std::find_if(metric.percentiles.begin(), metric.percentiles.end(),
                                  [&](const Percentile& item) { return std::abs(item.p - p) < 1e-9; });
  return found == metric.percentiles.end() ? nullptr : &*found;
}

Json to_json(const ScenarioResult& result) {
  Json json{{"scenario", result.scenario}, {"arrivals", result.arrivals}};
  if (result.arrivals == "closed") {
    json["concurrency"] = result.users;
  } else {
    json["rate_per_s"] = result.rate;
  }
  if (result.batch > 1) json["batch"] = result.batch;
  if (result.turns > 1) json["turns"] = result.turns;
  json["parameters"] = result.parameters;
  json["started"] = result.started;
  json["wall_s"] = result.wall_s;
  json["window"] = {{"begin_s", result.window_begin_s},
                    {"seconds", result.window_s},
                    {"whole_load", result.whole_load},
                    {"rates", kRatesDefinition}};
  json["requests"] = {{"sent", result.sent},
                      {"completed", result.completed},
                      {"failed", result.failed},
                      {"censored", result.censored},
                      {"never_sent", result.never_sent},
                      {"warmup", result.warmup},
                      {"sent_again", result.retried},
                      {"without_done_mark", result.without_done},
                      {"buffered", result.buffered}};
  if (result.censored > 0) json["requests"]["oldest_censored_s"] = result.oldest_censored_s;
  json["errors"] = result.errors;
  if (!result.first_error.empty()) json["first_error"] = result.first_error;
  json["stopped_because"] = result.stopped_because;
  json["interrupted"] = result.interrupted;
  Json metrics = Json::object();
  for (const auto& metric : result.metrics) metrics[metric.id] = to_json(metric);
  json["metrics"] = std::move(metrics);
  json["tokens"] = to_json(result.tokens);
  json["prompts"] = to_json(result.prompts);
  json["client"] = to_json(result.client);
  if (!result.slo.empty()) {
    json["slo"] = Json::array();
    for (const auto& outcome : result.slo) json["slo"].push_back(to_json(outcome));
  }
  if (result.mlperf) json["mlperf"] = to_json(*result.mlperf);
  if (result.quality) {
    json["quality"] = {{"task", result.quality->task},
                       {"questions_asked", result.quality->asked},
                       {"questions", result.quality->of},
                       {"unanswered", result.quality->unanswered}};
  }
  return json;
}

Json to_json(const LoadReport& report) {
  Json json{{"schema", kLoadSchema},      {"id", report.id},           {"started", report.started},
            {"command", report.command},  {"version", report.version}, {"host", report.host},
            {"complete", report.complete}};
  Json target = Json::object();
  for (const auto& [key, value] : report.target) target[key] = value;
  json["target"] = std::move(target);
  json["scenarios"] = report.earlier ? *report.earlier : Json::array();
  for (const auto& scenario : report.scenarios) json["scenarios"].push_back(to_json(scenario));
  if (report.warm_s > 0) {
    json["first_look"] = {{"first_s", report.first_s}, {"warm_s", report.warm_s}, {"repeated_s", report.repeated_s}};
    if (report.cached_tokens >= 0) json["first_look"]["cached_tokens"] = report.cached_tokens;
  }
  if (report.search) json["search"] = *report.search;
  json["notes"] = report.notes;
  return json;
}

}  // namespace warpmark::serving
