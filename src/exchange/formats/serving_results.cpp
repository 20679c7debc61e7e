// Results of load on inference servers: vLLM's and SGLang's `bench serve` (flat keys such as "mean_ttft_ms"), and the
// summaries of AIPerf and GenAI-Perf (an object with a unit for each metric). One run with all metrics.
#include <fmt/format.h>

#include <array>

#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool is_statistics(const Json& value) {
  return value.is_object() && value.contains("unit") && value["unit"].is_string() && value.contains("avg");
}

bool is_flat_result(const Json& json) {
  return json.is_object() && json.contains("request_throughput") && json["request_throughput"].is_number();
}

bool is_perf_result(const Json& json) {
  if (!json.is_object()) return false;
  constexpr std::array<const char*, 4> kMetrics{"request_latency", "request_throughput", "time_to_first_token",
                                                "output_token_throughput"};
  return std::any_of(kMetrics.begin(), kMetrics.end(),
                     [&](const char* key) { return json.contains(key) && is_statistics(json[key]); });
}

bool detect_serving(const Document& document) {
  if (!document.json) return false;
  const Json& json = *document.json;
  if (json.is_array()) return !json.empty() && is_flat_result(json[0]);  // SGLang writes a line a run
  return is_flat_result(json) || is_perf_result(json);
}

/// What was asked for, and no measurement.
bool is_setting(std::string_view key) {
  constexpr std::array<std::string_view, 15> kSettings{"num_prompts",
                                                       "request_rate",
                                                       "max_concurrency",
                                                       "burstiness",
                                                       "backend",
                                                       "model_id",
                                                       "model",
                                                       "tokenizer_id",
                                                       "endpoint_type",
                                                       "label",
                                                       "best_of",
                                                       "random_input_len",
                                                       "random_output_len",
                                                       "dataset_name",
                                                       "sharegpt_output_len"};
  return std::find(kSettings.begin(), kSettings.end(), key) != kSettings.end();
}

Status read_flat_key(const std::string& key, const Json& value, Run& run) {
  if (is_setting(key) && (value.is_number() || value.is_string())) {
    return set_param(run, clean_text(key), param_value(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  Described what = described(key);
  if (key == "duration") what.unit = {"s"};
  if (key.ends_with("throughput") && what.unit.si.empty()) what.unit = {"1/s"};
  if (value.is_number()) return add_described(run, what, {value.get<double>()});
  const bool times = key == "ttfts" || key == "tpots" || key == "e2els" || key == "latencies";
  if (!value.is_array() || !times) return {};
  std::vector<double> samples;
  for (const Json& one : value) {
    if (one.is_number()) samples.push_back(one.get<double>());
  }
  what = {.id = key.substr(0, key.size() - 1), .unit = {"s"}, .better = Better::lower};
  return add_described(run, what, std::move(samples));
}

Status read_statistics(const std::string& key, const Json& value, Run& run) {
  const std::string unit = value["unit"].get<std::string>();
  for (const auto& [statistic, number] : value.items()) {
    if (!number.is_number() || statistic == "count" || statistic == "sum") continue;
    Described what = described(key, unit);
    if (what.unit.si == unit) what.unit = {};  // "tokens", "requests": counts
    what.id = statistic == "avg" ? clean_text(key) : clean_text(key + "_" + statistic);
    if (statistic == "std") what.better = Better::lower;
    WM_TRY(add_described(run, what, {number.get<double>()}));
  }
  return {};
}

/// "20260301-120000" of vLLM, else ISO 8601.
std::string date_of(const Json& json) {
  for (const char* key : {"date", "start_time"}) {
    if (!json.contains(key) || !json[key].is_string()) continue;
    std::string text = json[key].get<std::string>();
    if (text.size() == 15 && text[8] == '-') {
      text = text.substr(0, 4) + "-" + text.substr(4, 2) + "-" + text.substr(6, 2) + "T" + text.substr(9, 2) + ":" +
             text.substr(11, 2) + ":" + text.substr(13, 2);
    }
    if (const auto utc = to_utc(text)) return *utc;
  }
  return {};
}

/// vLLM computes all figures of the requests that were answered: the others make a server look fast.
void judge_requests(const Json& json, Run& run) {
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : -1;
  };
  const double asked = number("num_prompts"), answered = number("completed");
  if (asked <= 0 || answered < 0 || answered >= asked) return;
  if (answered == 0) {
    run.metrics.clear();
    run.outcome = Outcome::error;
    run.fault = ErrorKind::data;
    run.reason = fmt::format("none of the {:.0f} requests was answered", asked);
    return;
  }
  run.outcome = Outcome::unreliable;
  run.reason = fmt::format("{:.0f} of {:.0f} requests were not answered", asked - answered, asked);
}

/// Model and load, wherever the versions of the two tools keep them.
Status read_setup(const Json& config, Run& run) {
  if (!config.is_object()) return {};
  for (const auto& [key, value] : config.items()) {
    const bool sought = key == "model_names" || key == "model" || key == "concurrency" || key == "request_rate";
    const Json& one = value.is_array() && value.size() == 1 ? value[0] : value;
    if (sought && (one.is_string() || one.is_number())) {
      const std::string text = one.is_string() ? one.get<std::string>() : one.dump();
      WM_TRY(set_param(run, key == "model_names" ? "model" : clean_text(key), param_value(text)));
    }
    if (key == "endpoint" || key == "loadgen" || key == "perf_analyzer" || key == "stimulus") {
      WM_TRY(read_setup(value, run));
    }
  }
  return {};
}

/// AIPerf's figures are of the requests that were answered before it was cancelled.
void judge_errors(const Json& json, Run& run) {
  const bool cancelled = json.contains("was_cancelled") && json["was_cancelled"] == true;
  double errors = 0;
  if (json.contains("error_request_count") && is_statistics(json["error_request_count"])) {
    const Json& count = json["error_request_count"]["avg"];
    errors = count.is_number() ? count.get<double>() : 0;
  }
  if ((!cancelled && errors <= 0) || run.outcome != Outcome::passed) return;
  run.outcome = Outcome::unreliable;
  run.reason = cancelled ? "the load was cancelled before its end" : fmt::format("{:.0f} requests failed", errors);
}

Status read_result(const Json& json, Session& session) {
  Run& run = add_run(session, "serving", kUnknownDevice);
  run.timing.method = "load client";
  session.started = date_of(json);
  for (const auto& [key, value] : json.items()) {
    if (is_statistics(value)) {
      WM_TRY(read_statistics(key, value, run));
    } else if (is_flat_result(json)) {
      WM_TRY(read_flat_key(key, value, run));
    }
  }
  if (json.contains("input_config")) WM_TRY(read_setup(json["input_config"], run));
  judge_requests(json, run);
  judge_errors(json, run);
  return {};
}

/// GenAI-Perf's configuration has its Perf Analyzer.
const char* tool_of(const Json& json) {
  if (!is_perf_result(json)) return "vLLM bench serve";
  const bool analyzer = json.contains("input_config") && json["input_config"].is_object() &&
                        (json["input_config"].contains("perf_analyzer") || json["input_config"].contains("model"));
  return analyzer ? "GenAI-Perf" : "AIPerf";
}

Result<std::vector<Session>> read_serving(const Document& document) {
  if (!detect_serving(document)) return data_error("it has neither a 'request_throughput' nor metrics with units");
  const Json& json = *document.json;
  std::vector<Session> sessions;
  ResultLimit limit(document.text);
  for (std::size_t i = 0; i < (json.is_array() ? json.size() : 1); ++i) {
    const Json& one = json.is_array() ? json[i] : json;
    if (!one.is_object()) continue;
    Session session = foreign_session(tool_of(one));
    WM_TRY(read_result(one, session));
    WM_TRY(limit.add(session.runs.back()));
    sessions.push_back(std::move(session));
  }
  return sessions;
}

}  // namespace

extern const Format kServingResults{"serving-results", "results of vLLM or SGLang bench serve, AIPerf, GenAI-Perf",
                                    detect_serving, read_serving};

}  // namespace warpmark::exchange
