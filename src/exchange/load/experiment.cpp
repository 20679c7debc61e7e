#include "exchange/load/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::exchange {
namespace {

constexpr std::int64_t kMostRunBytes = std::int64_t{2} << 30;
constexpr const char* kTimeFields[] = {"ttft", "tpot", "e2e_latency", "output_latency"};

/// As genai-bench's loader knows its files: "..._concurrency_8_time_60s.json", "..._batch_size_8_time_60s.json".
bool is_run_file(std::string_view name) {
  return name.ends_with("s.json") && name.find("_time_") != std::string_view::npos &&
         (name.find("_concurrency_") != std::string_view::npos || name.find("_batch_size_") != std::string_view::npos);
}

void scale_numbers(Json& json, double factor) {
  if (json.is_number()) {
    json = json.get<double>() * factor;
  } else if (json.is_structured()) {
    for (auto& item : json) scale_numbers(item, factor);
  }
}

/// Files in milliseconds become seconds.
void to_seconds(ExperimentRun& run) {
  for (const char* name : kTimeFields) {
    if (const auto stats = run.aggregated.find("stats"); stats != run.aggregated.end() && stats->contains(name)) {
      scale_numbers((*stats)[name], 1e-3);
    }
    for (auto& request : run.requests) {
      if (request.is_object() && request.contains(name)) scale_numbers(request[name], 1e-3);
    }
  }
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// What our own folders have beside genai-bench's: conversations and open loops.
std::string variant_of(const ExperimentRun& run) {
  std::string text;
  if (const auto turns = field_of(run, "turns")) text += fmt::format(", {:g} turns", *turns);
  if (const auto rate = field_of(run, "request_rate")) {
    text += fmt::format(", {:g} requests/s {}", *rate, text_at(run.aggregated, "arrivals"));
  }
  return text;
}

Result<ExperimentRun> read_run(const std::filesystem::path& path) {
  WM_ASSIGN(const std::string text, read_file(path, kMostRunBytes));
  WM_ASSIGN(Json json, parse_json(text, path.string()));
  const auto aggregated = json.is_object() ? json.find("aggregated_metrics") : json.end();
  if (!json.is_object() || aggregated == json.end() || !aggregated->is_object()) {
    return data_error(path.string() + " has no aggregated_metrics", "a file of a run, as genai-bench writes it");
  }
  ExperimentRun run{.file = path.filename().string()};
  run.aggregated = std::move(*aggregated);
  const auto requests = json.find("individual_request_metrics");
  run.requests = requests != json.end() && requests->is_array() ? std::move(*requests) : Json::array();
  run.scenario = text_at(run.aggregated, "scenario") + variant_of(run);
  run.iteration_type = text_at(run.aggregated, "iteration_type");
  if (run.iteration_type.empty()) run.iteration_type = "num_concurrency";
  const double level = field_of(run, run.iteration_type).value_or(0);
  if (!(std::abs(level) < 1e15)) {
    return data_error(fmt::format("{}: {} is {:g}", path.string(), run.iteration_type, level), "a whole number");
  }
  run.level = static_cast<std::int64_t>(level);
  if (text_at(json, "_time_unit") == "ms") to_seconds(run);
  return run;
}

void add_fields(const Json& json, const std::string& prefix, std::set<std::string>& fields) {
  for (const auto& [key, value] : json.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_number()) fields.insert(path);
    if (value.is_object()) add_fields(value, path, fields);
  }
}

}  // namespace

Result<Experiment> read_experiment(const std::string& folder) {
  Experiment experiment{.folder = folder};
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (is_run_file(entry.path().filename().string())) files.push_back(entry.path());
  }
  if (error) return read_error(folder, error.value());
  if (files.empty()) {
    return data_error(folder + " holds no run of an experiment",
                      "a folder of `load run --experiment-folder-name`, or of genai-bench");
  }
  const std::filesystem::path metadata = std::filesystem::path(folder) / "experiment_metadata.json";
  experiment.metadata = Json::object();
  if (std::filesystem::exists(metadata, error)) {
    WM_ASSIGN(const std::string text, read_file(metadata, 64 << 20));
    WM_ASSIGN(experiment.metadata, parse_json(text, metadata.string()));
    if (!experiment.metadata.is_object()) return data_error(metadata.string() + " is no JSON object");
  }
  for (const auto& file : files) {
    WM_ASSIGN(auto run, read_run(file));
    experiment.runs.push_back(std::move(run));
  }
  std::sort(experiment.runs.begin(), experiment.runs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.scenario, a.level, a.file) < std::tie(b.scenario, b.level, b.file);
  });
  return experiment;
}

std::optional<double> field_of(const ExperimentRun& run, std::string_view path) {
  const Json* json = &run.aggregated;
  for (const auto& key : split(path, '.')) {
    const auto found = json->is_object() ? json->find(key) : json->end();
    if (!json->is_object() || found == json->end()) return std::nullopt;
    json = &*found;
  }
  return json->is_number() ? std::optional(json->get<double>()) : std::nullopt;
}

bool is_time_field(std::string_view path) {
  const auto parts = split(path, '.');
  return parts.size() == 3 && parts[0] == "stats" && parts[2] != "n" &&
         std::any_of(std::begin(kTimeFields), std::end(kTimeFields), [&](const char* name) {
           return parts[1] == name || parts[1].find("_turn_") != std::string::npos;
         });
}

std::vector<std::string> numeric_fields(const Experiment& experiment) {
  std::set<std::string> fields;
  for (const auto& run : experiment.runs) add_fields(run.aggregated, "", fields);
  return {fields.begin(), fields.end()};
}

Result<double> time_scale(std::string_view unit) {
  if (unit == "s") return 1.0;
  if (unit == "ms") return 1e3;
  return usage_error(fmt::format("--metrics-time-unit: '{}' is no unit of time", unit), "s or ms");
}

std::string metadata_text(const Experiment& experiment, const std::string& key) {
  const auto found = experiment.metadata.find(key);
  if (found == experiment.metadata.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : dump_json(*found, -1);
}

}  // namespace warpmark::exchange
