// `warpmark load compare A B [C...]`: servers side by side.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/quantity.h"
#include "base/untrusted/read_fields.h"
#include "exchange/load/experiment.h"
#include "report/draw/format.h"
#include "serving/results/load_comparison.h"
#include "warpmark/load/load.h"
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
  LoadVariant variant{.name = name};
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
  LoadVariant variant{.name = session_name};
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

std::string number_text(double value, const std::string& unit) {
  if (unit == "s") return format_seconds(value);
  if (unit == "B") return report::format_bytes(value);
  return format_significant(value, 4);
}

Cell difference_cell(const serving::LoadDifference& variant, const std::string& unit) {
  if (!variant.value) return {"-"};
  std::string text = number_text(*variant.value, unit);
  if (variant.ratio) text += " (" + report::format_change(*variant.ratio) + ")";
  if (variant.few_requests) text += " *";
  if (variant.verdict == "inconclusive") text += " ?";
  if (variant.verdict == "same") text += " =";
  const Tone tone = variant.verdict == "better" ? Tone::good : variant.verdict == "worse" ? Tone::bad : Tone::plain;
  return {text, tone};
}

/// Names without the folders that all of them stand in, which leave no room for the numbers.
std::vector<std::string> without_common_folders(std::vector<std::string> names) {
  for (;;) {
    const auto folder = names.front().substr(0, names.front().find('/') + 1);
    const bool is_common = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.size() > folder.size() && name.starts_with(folder);
    });
    if (folder.empty() || !is_common) return names;
    for (auto& name : names) name.erase(0, folder.size());
  }
}

/// How many numbers came out how, and the request rate of the heaviest load.
Paragraph headline(const serving::LoadComparison& comparison, const std::vector<std::string>& names) {
  std::string text;
  const serving::LoadComparisonRow* heaviest = nullptr;
  std::map<std::string, int> verdicts;
  for (const auto& row : comparison.rows) {
    for (std::size_t i = 1; i < row.variants.size(); ++i) ++verdicts[row.variants[i].verdict];
    const bool rate = row.number.metric == "request_throughput" && row.variants.size() > 1 && row.variants[0].value;
    if (rate && (heaviest == nullptr || *row.variants[0].value > *heaviest->variants[0].value)) heaviest = &row;
  }
  if (heaviest != nullptr) {
    text = fmt::format("{}, {}:", heaviest->scenario, heaviest->level);
    for (std::size_t i = 0; i < heaviest->variants.size(); ++i) {
      text += (i == 0 ? " " : ", ") + names[i] + " " + difference_cell(heaviest->variants[i], "").text;
    }
    text += " requests/s. ";
  }
  text += fmt::format("{} better, {} worse, {} the same, {} inconclusive.", verdicts["better"], verdicts["worse"],
                      verdicts["same"], verdicts["inconclusive"]);
  const Tone tone = verdicts["worse"] > 0 ? Tone::bad : verdicts["better"] > 0 ? Tone::good : Tone::plain;
  return {text, tone};
}

Report report_of(const serving::LoadComparison& comparison) {
  const auto names = without_common_folders(comparison.names);
  Report page{.title = "Servers side by side", .subtitle = "the change is to " + comparison.names.front()};
  page.sections.push_back({"", {headline(comparison, names)}});
  std::string heading;
  for (const auto& row : comparison.rows) {
    const std::string here = row.scenario + ", " + row.level;
    if (here != heading) {
      heading = here;
      Table table{{{""}}, {}};
      for (const auto& name : names) table.columns.push_back({name, Align::right});
      page.sections.push_back({here, {table}});
    }
    Table& table = std::get<Table>(page.sections.back().blocks.front());
    std::vector<Cell> cells{{row.number.metric + (row.number.statistic == "mean" ? "" : " " + row.number.statistic)}};
    for (const auto& variant : row.variants) cells.push_back(difference_cell(variant, row.number.unit));
    table.rows.push_back(std::move(cells));
  }
  Section last{"", {}};
  last.blocks.push_back(
      Paragraph{"? the difference may be chance; = less than 2 % apart; * the value of too few requests to compare. "
                "Over the whole table the chance of calling any of "
                "equal servers different is 5 %. Loads measured at different times differ by more than their intervals "
                "show: `warpmark compare` alternates."});
  for (const auto& note : comparison.notes) last.blocks.push_back(Paragraph{note, Tone::warning});
  page.sections.push_back(std::move(last));
  return page;
}

/// "ttft p95 of vllm with 8 users is worse"; empty where no number has the verdict.
std::string first_with(const serving::LoadComparison& comparison, std::string_view verdict) {
  for (const auto& row : comparison.rows) {
    for (std::size_t i = 0; i < row.variants.size() && i < comparison.names.size(); ++i) {
      if (row.variants[i].verdict != verdict) continue;
      return fmt::format("{} {} of {} with {} is {}", row.number.metric, row.number.statistic, comparison.names[i],
                         row.level, verdict);
    }
  }
  return {};
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
  WM_ASSIGN(const auto comparison, serving::compare_loads(variants));
  WM_ASSIGN(const std::string format, format_of(options));
  const auto shown = shown_as([&] { return to_json(comparison); }, report_of(comparison));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_named_files(options, shown));
  if (!options.has("--fail-if-worse")) return kSuccess;
  for (const auto& [verdict, code] : {std::pair{"worse", kGateFailed}, {"inconclusive", kInconclusive}}) {
    const auto number = first_with(comparison, verdict);
    if (!number.empty()) return exit_because(context, code, number);
  }
  return kSuccess;
}

}  // namespace warpmark::apps
