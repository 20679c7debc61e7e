#include "serving/files/genai_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "serving/results/request_values.h"
#include "serving/traffic/scenario.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

double request_seconds(std::int64_t from_ns, std::int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }

struct RequestField {
  const char* name;
  std::optional<double> (*value)(const RequestRecord& record);
};

using R = const RequestRecord&;

/// As genai-bench has it, reasoning included.
std::optional<double> any_ttft_of(R r) {
  return r.first_token_ns > 0 ? std::optional(request_seconds(r.sent_ns, r.first_token_ns)) : std::nullopt;
}
std::optional<double> count_or_none(std::int64_t count) {
  return count >= 0 ? std::optional(static_cast<double>(count)) : std::nullopt;
}
/// Of the tokens after the first.
std::optional<double> generation_of(R r) {
  const auto tpot = tpot_of(r);
  return tpot ? std::optional(*tpot * (output_tokens_of(r) - 1)) : std::nullopt;
}
std::optional<double> tokens_of(R r) {
  return r.events > 0 || r.output_tokens >= 0 ? std::optional(output_tokens_of(r)) : std::nullopt;
}
std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

constexpr RequestField kRequestFields[] = {
    {"ttft", any_ttft_of},
    {"tpot", tpot_of},
    {"e2e_latency", e2e_of},
    {"output_latency", generation_of},
    {"output_inference_speed", [](R r) { return ratio(1.0, tpot_of(r)); }},
    {"num_input_tokens", [](R r) { return count_or_none(r.prompt_tokens); }},
    {"num_output_tokens", tokens_of},
    {"num_reasoning_tokens", [](R r) { return count_or_none(r.reasoning_tokens); }},
    {"total_tokens",
     [](R r) {
       const auto output = tokens_of(r);
       return r.prompt_tokens >= 0 && output ? std::optional(static_cast<double>(r.prompt_tokens) + *output)
                                             : std::nullopt;
     }},
    {"input_throughput", [](R r) { return ratio(count_or_none(r.prompt_tokens), any_ttft_of(r)); }},
    {"output_throughput", [](R r) { return ratio(1.0, tpot_of(r)); }},
};

Json stats_of(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0), mean = sum / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  Json json{{"min", values.front()},
            {"max", values.back()},
            {"mean", mean},
            {"stddev", std::sqrt(squares / n)},
            {"sum", sum}};
  for (const double p : {0.25, 0.5, 0.75, 0.9, 0.95, 0.99})
    json[percentile_name(p)] = stats::quantile_of_sorted(values, p);
  return json;
}

/// The mean of single speeds would be ruled by the fastest answers: all tokens by all of their time.
void set_mean_speeds(const ScenarioResult& result, Json& statistics) {
  const LoadMetric* speed = metric_of(result, "output_speed");
  if (speed == nullptr) return;
  for (const char* field : {"output_inference_speed", "output_throughput"}) {
    if (statistics[field].is_object()) statistics[field]["mean"] = speed->mean;
  }
}

int error_code(const RequestRecord& record) {
  if (record.status != 0 && record.status != 200) return record.status;
  return record.fault == Fault::connect ? 503 : record.fault == Fault::timeout ? 408 : 500;
}

Json request_json(const RequestRecord& record) {
  Json json = Json::object();
  for (const auto& field : kRequestFields) {
    const auto value = record.fault == Fault::none ? field.value(record) : std::nullopt;
    json[field.name] = value ? Json(*value) : Json(nullptr);
  }
  if (record.turn > 0) json["turn"] = record.turn;
  if (record.fault == Fault::none) return json;
  json["error_code"] = error_code(record);
  json["error_message"] = fmt::format("{}: {}", name_of(record.fault), record.message);
  return json;
}

std::string target_of(const LoadReport& report, const std::string& key) {
  const auto found =
      std::find_if(report.target.begin(), report.target.end(), [&](const auto& pair) { return pair.first == key; });
  return found == report.target.end() ? "" : found->second;
}

/// Embeddings and rerankers are stepped by their batch size there, all others by concurrency.
const char* iteration_type(std::string_view task) {
  return task == "text-to-embeddings" || task == "text-to-rerank" ? "batch_size" : "num_concurrency";
}

Json aggregated_json(const ScenarioResult& result, std::string_view task) {
  const auto rate = [&](const char* id) {
    const LoadMetric* metric = metric_of(result, id);
    return metric == nullptr ? Json(nullptr) : Json(metric->mean);
  };
  Json codes = Json::object(), statistics = Json::object();
  for (const auto& record : result.records) {
    if (record.fault == Fault::censored || record.fault == Fault::none) continue;
    const std::string key = std::to_string(error_code(record));
    codes[key] = codes.value(key, 0) + 1;
  }
  for (const auto& field : kRequestFields) {
    std::vector<double> values;
    for (const auto& record : result.records) {
      if (record.fault != Fault::none) continue;
      if (const auto value = field.value(record)) values.push_back(*value);
    }
    statistics[field.name] = stats_of(std::move(values));
  }
  set_mean_speeds(result, statistics);
  for (const auto& metric : result.metrics) {  // the steps of sessions
    if (metric.id.find("_turn_") != std::string::npos) statistics[metric.id] = stats_of(metric.samples);
  }
  const std::int64_t ended = result.completed + result.failed;
  Json aggregated{{"scenario", result.scenario},
                  {"num_concurrency", result.users},
                  {"batch_size", result.batch},
                  {"iteration_type", iteration_type(task)},
                  {"run_duration", result.wall_s},
                  {"mean_output_throughput_tokens_per_s", rate("output_throughput")},
                  {"mean_input_throughput_tokens_per_s", rate("input_throughput")},
                  {"mean_total_tokens_throughput_tokens_per_s", rate("total_throughput")},
                  {"requests_per_second", rate("request_throughput")},
                  {"error_codes_frequency", codes},
                  {"error_rate", ended > 0 ? static_cast<double>(result.failed) / static_cast<double>(ended) : 0.0},
                  {"num_error_requests", result.failed},
                  {"num_completed_requests", result.completed},
                  {"num_requests", ended},
                  {"stats", std::move(statistics)}};
  if (result.turns > 1) aggregated["turns"] = result.turns;
  if (result.arrivals != "closed") aggregated["arrivals"] = result.arrivals, aggregated["request_rate"] = result.rate;
  return aggregated;
}

void write_run(const ScenarioResult& result, std::string_view task, const TakeText& take) {
  JsonLists lists({{"aggregated_metrics", aggregated_json(result, task)}, {"_time_unit", "s"}}, take);
  lists.add("individual_request_metrics", result.records, [](const RequestRecord& record) {
    return record.fault == Fault::censored ? std::nullopt : std::optional(request_json(record));
  });
  lists.end();
}

std::string file_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ':' || c == '/' || c == '_'; }, '-');
  return text;
}

template <typename Value>
void add_once(Json& list, const Value& value) {
  if (std::find(list.begin(), list.end(), Json(value)) == list.end()) list.push_back(value);
}

Json metadata_json(const LoadReport& report) {
  Json scenarios = Json::array(), users = Json::array(), batches = Json::array();
  for (const auto* results : {&report.earlier, &report.scenarios}) {
    for (const auto& result : *results) {
      add_once(scenarios, result.scenario);
      add_once(users, result.users);
      add_once(batches, result.batch);
    }
  }
  const auto setting = [&](const char* name) {
    const auto found = report.settings.find(name);
    return found == report.settings.end() ? std::int64_t{0} : std::llround(found->second);
  };
  const bool by_batch = std::string_view(iteration_type(target_of(report, "task"))) == "batch_size";
  return {{"cmd", report.command},
          {"benchmark_version", "warpmark " + report.version},
          {"api_backend", target_of(report, "backend")},
          {"auth_config", Json::object()},
          {"api_model_name", target_of(report, "model")},
          {"server_model_tokenizer", "server usage"},
          {"model", target_of(report, "model")},
          {"task", target_of(report, "task")},
          {"num_concurrency", users},
          {"batch_size", by_batch ? batches : Json(nullptr)},
          {"iteration_type", iteration_type(target_of(report, "task"))},
          {"traffic_scenario", scenarios},
          {"additional_request_params", Json::object()},
          {"server_engine", target_of(report, "engine")},
          {"server_version", target_of(report, "engine_version")},
          {"server_gpu_type", target_of(report, "gpu_type")},
          {"server_gpu_count", target_of(report, "gpu_count")},
          {"max_time_per_run_s", setting("max_time_per_run_s")},
          {"max_requests_per_run", setting("max_requests_per_run")},
          {"experiment_folder_name", report.id},
          {"metrics_time_unit", "s"},
          {"dataset_path", report.dataset.empty() ? Json(nullptr) : Json(report.dataset)}};
}

}  // namespace

std::string run_file_name(const ScenarioResult& result, const std::string& task) {
  std::string name = scenario_file_name(result.scenario);
  const bool by_batch = std::string_view(iteration_type(task)) == "batch_size";
  // What its names have no place for goes before the task, so that no load takes another's file.
  if (result.arrivals != "closed") name += fmt::format("_rate{:g}-{}", result.rate, file_word(result.arrivals));
  if (by_batch && result.users != 1) name += fmt::format("_users{}", result.users);
  if (!by_batch && result.batch > 1) name += fmt::format("_batch{}", result.batch);
  if (result.turns > 1) name += fmt::format("_turns{}", result.turns);
  return fmt::format("{}_{}_{}_{}_time_{}s.json", name, task, by_batch ? "batch_size" : "concurrency",
                     by_batch ? result.batch : result.users, std::llround(result.wall_s));
}

std::vector<GenaiFile> genai_files(const LoadReport& report) {
  std::vector<GenaiFile> files;
  files.push_back(
      {"experiment_metadata.json", [&report](const TakeText& take) { take(dump_json(metadata_json(report)) + "\n"); }});
  const std::string task = target_of(report, "task");
  for (const auto& result : report.scenarios) {
    files.push_back(
        {run_file_name(result, task), [&result, task](const TakeText& take) { write_run(result, task, take); }});
  }
  return files;
}

}  // namespace warpmark::serving
