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
#include "loadtest/pages/comparison_page.h"
#include "loadtest/pages/load_verdict.h"
#include "serving/results/load_comparison.h"
#include "warpmark/load/load.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using serving::LoadCell;
using serving::LoadVariant;

std::string users_text(std::int64_t users) { return fmt::format("{} {}", users, users == 1 ? "user" : "users"); }

std::string level_of(const serving::ScenarioResult& result) {
  std::string level = result.arrivals == "closed" ? users_text(result.users)
                                                  : fmt::format("{:g} requests/s, {}", result.rate, result.arrivals);
  if (result.batch > 1) level += fmt::format(", batch {}", result.batch);
  if (result.turns > 1) level += fmt::format(", turns {}", result.turns);
  for (const auto& [name, value] : result.parameters) level += fmt::format(", {} {}", name, value);
  return level;
}

/// Of what `load run` writes and stores; `file` is where it stands.
Result<LoadVariant> variant_of_document(const std::string& text, const std::string& file, const std::string& name) {
  WM_ASSIGN(const Json json, parse_json(text, file));
  const auto report = serving::load_report_from_json(json);
  if (!report.ok()) return data_error(file + ": " + report.error().what, kWrongFieldsHint);
  LoadVariant variant{.name = name, .command = loadtest::command_with(*report), .cells = {}};
  for (const auto& result : report->scenarios) {
    LoadCell cell{.scenario = result.scenario, .level = level_of(result), .trusted = result.client.trusted};
    for (const auto& metric : result.metrics) {
      if (metric.samples.empty()) {
        cell.values[metric.id] = metric.mean;
      } else {
        cell.samples[metric.id] = metric.samples;
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

/// Of results of another tool, or of a load that was killed and has no report.
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

/// Of the report that is stored with the load, where there is one.
Result<LoadVariant> variant_of_stored(const Context& context, const ParsedOptions& options, const std::string& word) {
  WM_ASSIGN(const auto store, open_to_read(context, options));
  WM_ASSIGN(const Session session, load_session(*store, word));
  WM_ASSIGN(const auto kept, store->documents({.kind = "load", .session = session.id, .before = {}}));
  if (kept.empty()) return variant_of_session(session, word);
  WM_ASSIGN(const auto document, store->document(session.id, kept.front().index));
  return variant_of_document(document.text, session.id, word);
}

Result<LoadVariant> variant_of(const Context& context, const ParsedOptions& options, const std::string& word) {
  std::error_code error;
  if (std::filesystem::is_directory(word, error)) {
    // Ours has the samples of rates beside what genai-bench keeps.
    const auto own = std::filesystem::path(word) / "warpmark_load.json";
    if (!std::filesystem::exists(own, error)) {
      WM_ASSIGN(const auto experiment, exchange::read_experiment(word));
      return variant_of_experiment(experiment, word);
    }
    WM_ASSIGN(const std::string text, read_file(own));
    return variant_of_document(text, own.string(), word);
  }
  if (!is_result_file(word)) return variant_of_stored(context, options, word);
  WM_ASSIGN(const std::string text, read_file(word));
  const auto json = parse_json(text, word);
  if (json.ok() && json->is_object() && json->value("schema", Json()) == serving::kLoadSchema) {
    return variant_of_document(text, word, word);
  }
  WM_ASSIGN(const Session session, load_results(context, options, word));
  return variant_of_session(session, word);
}

/// How a number came out that has this verdict: "TTFT p95 of vllm with 8 users is worse"; empty where none has.
std::string first_with(const serving::LoadComparison& comparison, std::string_view verdict) {
  for (const auto& row : comparison.rows) {
    for (std::size_t i = 0; i < row.variants.size() && i < comparison.names.size(); ++i) {
      if (row.variants[i].verdict != verdict) continue;
      return fmt::format("{} of {} with {} is {}", loadtest::number_name(row.number), comparison.names[i], row.level,
                         verdict);
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
  WM_ASSIGN(const auto request, read_options<LoadCompareRequest>(options));
  const auto shown = shown_as([&] { return to_json(comparison); }, loadtest::comparison_page_of(comparison, commands));
  WM_TRY(show(context, shown, request.format));
  WM_TRY(write_named_files(options, shown));
  return request.fails_if_worse ? gate(context, comparison) : kSuccess;
}

}  // namespace warpmark::apps
