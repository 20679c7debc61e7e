// `warpmark load compare A B [C...]`: loads of two or more servers.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/untrusted/read_fields.h"
#include "exchange/load/experiment.h"
#include "serving/results/load_comparison.h"
#include "warpmark/load/load.h"
#include "warpmark/load/pages/comparison_page.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using serving::LoadCell;
using serving::LoadVariant;

std::string users_text(std::int64_t users) { return fmt::format("{} {}", users, users == 1 ? "user" : "users"); }

std::string with_parameters(std::string level, const Json& scenario) {
  for (const char* name : {"batch", "turns"}) {
    if (scenario.contains(name)) level += fmt::format(", {} {}", name, scenario[name].dump());
  }
  const Json parameters = scenario.value("parameters", Json::object());
  for (const auto& [name, value] : parameters.items()) {
    level += fmt::format(", {} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return level;
}

/// Of `load run --json`.
Result<LoadVariant> variant_of_json(const Json& json, const std::string& name) {
  LoadVariant variant{.name = name, .command = json.value("command", "")};
  const Json scenarios = json.value("scenarios", Json::array());
  for (const auto& scenario : scenarios) {
    LoadCell cell{.scenario = scenario.value("scenario", "")};
    cell.level =
        scenario.contains("concurrency")
            ? users_text(scenario["concurrency"].get<std::int64_t>())
            : fmt::format("{:g} requests/s, {}", scenario.value("rate_per_s", 0.0), scenario.value("arrivals", ""));
    cell.level = with_parameters(cell.level, scenario);
    cell.trusted = scenario.contains("client") && scenario["client"].value("verdict", "") == "reliable";
    const Json metrics = scenario.value("metrics", Json::object());
    for (const auto& [id, metric] : metrics.items()) {
      if (const auto samples = metric.find("samples"); samples != metric.end()) {
        cell.samples[id] = samples->get<std::vector<double>>();
      } else if (metric.contains("mean")) {
        cell.values[id] = metric["mean"].get<double>();
      }
    }
    variant.cells.push_back(std::move(cell));
  }
  if (variant.cells.empty()) return data_error(name + " holds no load");
  return variant;
}

/// Of an experiment folder, also one that genai-bench wrote.
LoadVariant variant_of_experiment(const exchange::Experiment& experiment, const std::string& name) {
  constexpr std::pair<const char*, const char*> kFields[] = {
      {"ttft", "ttft"}, {"tpot", "tpot"}, {"e2e", "e2e_latency"}, {"output_tokens", "num_output_tokens"}};
  constexpr std::pair<const char*, const char*> kRates[] = {
      {"request_throughput", "requests_per_second"}, {"output_throughput", "mean_output_throughput_tokens_per_s"}};
  LoadVariant variant{.name = name};
  for (const auto& run : experiment.runs) {
    const bool by_batch = run.iteration_type == "batch_size";
    LoadCell cell{.scenario = run.scenario,
                  .level = by_batch ? fmt::format("batch {}", run.level) : users_text(run.level)};
    for (const auto& [id, field] : kFields) {
      for (const auto& request : run.requests) {
        const auto found = request.is_object() ? request.find(field) : request.end();
        if (request.is_object() && found != request.end() && found->is_number()) {
          cell.samples[id].push_back(found->get<double>());
        }
      }
    }
    for (const auto& [id, field] : kRates) {
      if (const auto value = exchange::field_of(run, field)) cell.values[id] = *value;
    }
    variant.cells.push_back(std::move(cell));
  }
  return variant;
}

/// Says which server was loaded, and not how.
bool names_target(std::string_view parameter) {
  for (const char* name : {"model", "api", "task", "engine", "gpu_type", "gpu_count", "settings", "device"}) {
    if (parameter == name) return true;
  }
  return false;
}

/// Of a stored session.
Result<LoadVariant> variant_of_session(const Session& session, const std::string& session_name) {
  LoadVariant variant{.name = session_name, .command = session.command};
  for (const auto& run : session.runs) {
    if (run.workload != "serving") continue;
    LoadCell cell{.level = "as recorded"};
    std::string rest;
    for (const auto& [name, value] : run.params.items()) {
      if (name == "scenario") {
        cell.scenario = to_text(value);
      } else if (name == "concurrency") {
        cell.level = to_text(value) + (to_text(value) == "1" ? " user" : " users");
      } else if (name == "rate") {
        cell.level = to_text(value) + " requests/s";
      } else if (!names_target(name)) {
        rest += fmt::format(", {} {}", name, to_text(value));
      }
    }
    cell.level += rest;
    cell.trusted = run.outcome == Outcome::passed;
    for (const auto& metric : run.metrics) cell.samples[metric.id] = metric.samples;
    variant.cells.push_back(std::move(cell));
  }
  if (variant.cells.empty()) return data_error("session " + session_name + " holds no load of a server");
  return variant;
}

Result<LoadVariant> variant_of(const Context& context, const ParsedOptions& options, const std::string& word) {
  std::error_code error;
  if (std::filesystem::is_directory(word, error)) {
    // Ours has the samples of rates beside what genai-bench keeps.
    const auto own = std::filesystem::path(word) / "warpmark_load.json";
    if (std::filesystem::exists(own, error)) {
      WM_ASSIGN(const std::string text, read_file(own));
      WM_ASSIGN(const Json json, parse_json(text, own.string()));
      return read_fields(own.string(), [&] { return variant_of_json(json, word); });
    }
    WM_ASSIGN(const auto experiment, exchange::read_experiment(word));
    return variant_of_experiment(experiment, word);
  }
  if (word.ends_with(".json")) {
    WM_ASSIGN(const std::string text, read_file(word));
    WM_ASSIGN(const Json json, parse_json(text, word));
    if (json.is_object() && json.value("schema", Json()) == "warpmark.load/1") {
      return read_fields(word, [&] { return variant_of_json(json, word); });
    }
  }
  WM_ASSIGN(const Session session, load_results(context, options, word));
  return variant_of_session(session, word);
}

/// How a number came out that has this verdict: "TTFT p95 of vllm with 8 users is worse"; empty where none has.
std::string first_with(const serving::LoadComparison& comparison, std::string_view verdict) {
  for (const auto& row : comparison.rows) {
    for (std::size_t i = 0; i < row.variants.size() && i < comparison.names.size(); ++i) {
      if (row.variants[i].verdict != verdict) continue;
      return fmt::format("{} of {} with {} is {}", number_name(row.number), comparison.names[i], row.level, verdict);
    }
  }
  return {};
}

/// What --fail-if-worse decides, and why.
int gate(Context& context, const serving::LoadComparison& comparison) {
  const std::string worse = first_with(comparison, "worse"), open = first_with(comparison, "inconclusive");
  if (!worse.empty()) return exit_because(context, kGateFailed, "--fail-if-worse: " + worse);
  if (!comparison.unreliable.empty()) {
    return exit_because(
        context, kEnvironment,
        "--fail-if-worse: not decided, as the client of " + join(comparison.unreliable, " and ") + " was unreliable");
  }
  if (!open.empty()) return exit_because(context, kInconclusive, "--fail-if-worse: not decided, as " + open);
  if (!context.quiet) context.err << "--fail-if-worse: passed, no number is worse\n";
  return kSuccess;
}

}  // namespace

Result<int> load_compare(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  if (words.size() < 3) {
    return usage_error("load compare needs two results or more",
                       "load compare A B [C...]: experiment folders, files of --json, stored ids");
  }
  std::vector<LoadVariant> variants;
  for (std::size_t i = 1; i < words.size(); ++i) {
    WM_ASSIGN(auto variant, variant_of(context, options, words[i]));
    variants.push_back(std::move(variant));
  }
  std::vector<std::string> commands;
  for (const auto& variant : variants) commands.push_back(variant.command);
  WM_ASSIGN(const auto comparison, serving::compare_loads(variants));
  WM_ASSIGN(const std::string format, format_of(options));
  const auto shown = shown_as([&] { return to_json(comparison); }, comparison_page_of(comparison, commands));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_named_files(options, shown));
  return options.has("--fail-if-worse") ? gate(context, comparison) : kSuccess;
}

}  // namespace warpmark::apps
