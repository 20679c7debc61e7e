#include "loadtest/pages/load_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "loadtest/pages/load_text.h"
#include "loadtest/pages/load_verdict.h"
#include "report/build/of_document.h"

namespace warpmark::loadtest {
namespace {

using serving::LevelVerdict;
using serving::LoadReport;
using serving::ScenarioResult;

double level_of(const ScenarioResult& result) {
  return result.arrivals == "closed" ? static_cast<double>(result.users) : result.rate;
}

/// A number of each load over the load, a line for each scenario; empty where there are no two loads of one.
Plot plot_over_load(const LoadReport& report, const char* title, const char* id, double p) {
  Plot plot{.title = title};
  plot.x = {report.scenarios.front().arrivals == "closed" ? "users" : "requests/s", ""};
  plot.y = {title, p < 0 ? "" : "s"};
  for (const auto& result : report.scenarios) {
    const auto* metric = serving::metric_of(result, id);
    if (metric == nullptr) continue;
    const auto* percentile = p < 0 ? nullptr : serving::percentile_of(*metric, p);
    if (p >= 0 && (percentile == nullptr || !percentile->value)) continue;
    std::string name = result.scenario;
    if (result.turns > 1) name += fmt::format(", {} turns", result.turns);
    auto series =
        std::find_if(plot.series.begin(), plot.series.end(), [&](const Series& one) { return one.name == name; });
    if (series == plot.series.end()) series = plot.series.insert(series, {.name = name, .points = {}});
    series->points.emplace_back(level_of(result), p < 0 ? metric->mean : *percentile->value);
  }
  const bool lines = std::any_of(plot.series.begin(), plot.series.end(),
                                 [](const Series& series) { return series.points.size() > 1; });
  if (!lines) plot.series.clear();
  return plot;
}

Cell objectives_cell(const ScenarioResult& result) {
  if (objective_with(result, "missed") != nullptr) return {"missed", Tone::bad};
  if (objective_with(result, "undecided") != nullptr) return {"undecided", Tone::warning};
  return {"met", Tone::good};
}

/// A row for each load. Columns that all loads have in common stay away.
Table summary_of(const std::vector<ScenarioResult>& results) {
  const auto any = [&](auto holds) { return std::ranges::any_of(results, holds); };
  const bool scenarios = any([&](const auto& one) { return one.scenario != results.front().scenario; });
  const bool objectives = any([](const auto& one) { return !one.slo.empty(); });
  const bool errors = any([](const auto& one) { return one.failed > 0; });
  Table table{{{"load"},
               {"requests/s", Align::right},
               {"output tokens/s", Align::right, 1},
               {"TTFT p50", Align::right, 3},
               {"TTFT p95", Align::right},
               {"TTFT p99", Align::right, 2},
               {"TPOT p50", Align::right, 4},
               {"TPOT p95", Align::right, 5}},
              {}};
  if (scenarios) table.columns.insert(table.columns.begin(), Column{"scenario"});
  if (objectives) table.columns.push_back({"SLO"});
  if (errors) table.columns.push_back({"errors", Align::right});
  table.columns.push_back({"client"});
  for (const auto& result : results) {
    const auto rate = [&](const char* id) {
      const auto* metric = serving::metric_of(result, id);
      return metric == nullptr ? std::string("-") : format_significant(metric->mean, 4);
    };
    const auto time = [&](const char* id, double p) {
      const auto* metric = serving::metric_of(result, id);
      return metric == nullptr ? std::string("-") : marked_value(serving::percentile_of(*metric, p), *metric);
    };
    std::vector<Cell> row{{level_text(result)}, {rate("request_throughput")}, {rate("output_throughput")},
                          {time("ttft", 0.5)},  {time("ttft", 0.95)},         {time("ttft", 0.99)},
                          {time("tpot", 0.5)},  {time("tpot", 0.95)}};
    if (scenarios) row.insert(row.begin(), Cell{result.scenario});
    if (objectives) row.push_back(objectives_cell(result));
    if (errors) row.push_back({format_count(result.failed), result.failed > 0 ? Tone::bad : Tone::plain});
    row.push_back({result.client.verdict(), result.client.trusted ? Tone::plain : Tone::warning});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section verdict_section(const LoadReport& report) {
  LoadVerdict verdict = verdict_of(report);
  Section section{"", {verdict.headline}};
  for (auto& why : verdict.why) section.blocks.push_back(std::move(why));
  if (!report.complete) section.blocks.push_back(Paragraph{"Interrupted: not all loads were measured.", Tone::warning});
  section.blocks.push_back(Paragraph{verdict.next, Tone::quiet});
  section.blocks.push_back(Paragraph{verdict.command, Tone::quiet, true});
  return section;
}

Section section_of(const ScenarioResult& result) {
  Section section{result.scenario + ", " + level_text(result), {load_facts_of(result)}};
  if (auto latencies = load_latencies_of(result); !latencies.rows.empty()) {
    section.blocks.push_back(std::move(latencies));
  }
  if (auto few = few_requests_text(result); !few.empty()) section.blocks.push_back(Paragraph{few, Tone::quiet});
  return section;
}

/// The requests before the load, where they differ plainly.
void add_first_probe(const LoadReport& report, Table& table) {
  constexpr double kPlain = 2;
  if (report.first_s > kPlain * report.warm_s) {
    table.rows.push_back({{"cold"},
                          {fmt::format("the first request took {}, a later one of its size {}",
                                       format_seconds(report.first_s), format_seconds(report.warm_s))}});
  }
  if (report.cached_tokens > 0 || report.warm_s > kPlain * report.repeated_s) {
    table.rows.push_back({{"prefix cache"},
                          {fmt::format("{} with the same prompt once more, {} before",
                                       format_seconds(report.repeated_s), format_seconds(report.warm_s))}});
  }
}

Section about_section(const LoadReport& report) {
  Section section{"How it was measured", {}};
  Table table{{{""}, {""}}, {}};
  add_first_probe(report, table);
  for (const auto& [key, value] : report.target) {
    if (!value.empty()) table.rows.push_back({{key, Tone::quiet}, {value, Tone::quiet}});
  }
  for (const auto& note : report.notes) table.rows.push_back({{"note", Tone::quiet}, {note, Tone::quiet}});
  section.blocks.push_back(std::move(table));
  section.blocks.push_back(Paragraph{
      "Rates are work divided by time, without warm-up; ± is half of a 95 % interval. The client is reliable if p99 of "
      "its lag, of sending and of receiving, is within the limit: 5 % of the smallest objective (at least 1 ms), or "
      "without objectives 5 % of the median TTFT (at most 1 ms).",
      Tone::quiet});
  section.blocks.push_back(Paragraph{report.command, Tone::quiet, true});
  return section;
}

std::string target_text(const LoadReport& report) {
  std::string model, base;
  for (const auto& [key, value] : report.target) {
    if (key == "model") model = value;
    if (key == "base") base = value;
  }
  return model + " at " + base;
}

}  // namespace

Report load_page_of(const LoadReport& report) {
  Report page{.title = "Load test of " + target_text(report), .subtitle = "", .sections = {}};
  if (report.scenarios.empty()) {
    page.sections.push_back({"", {Paragraph{"Nothing was measured.", Tone::warning}}});
    return page;
  }
  page.sections.push_back(verdict_section(report));
  if (report.scenarios.size() > 1) {
    page.sections.push_back({"All loads", {summary_of(report.scenarios)}});
    Section curves{"Over the load", {}, true, true};
    for (auto& plot :
         {plot_over_load(report, "output tokens/s", "output_throughput", -1),
          plot_over_load(report, "TTFT p95", "ttft", 0.95), plot_over_load(report, "TPOT p95", "tpot", 0.95)}) {
      if (!plot.series.empty()) curves.blocks.push_back(plot);
    }
    if (!curves.blocks.empty()) page.sections.push_back(std::move(curves));
  }
  for (const auto& result : report.scenarios) {
    page.sections.push_back(section_of(result));
    page.sections.push_back({"Other metrics of " + page.sections.back().heading, {load_others_of(result)}, true});
  }
  page.sections.push_back(about_section(report));
  return page;
}

Report whole_page_of(const LoadReport& report) {
  if (!report.earlier.empty()) {
    if (const auto whole = serving::load_report_from_json(to_json(report)); whole.ok()) return load_page_of(*whole);
  }
  return load_page_of(report);
}

Result<std::optional<Report>> page_of_document(const Json& document) {
  const Json schema = document.is_object() ? document.value("schema", Json()) : Json();
  if (schema != serving::kLoadSchema) return report::report_of_document(document);
  WM_ASSIGN(const auto report, serving::load_report_from_json(document));
  return std::optional(load_page_of(report));
}

}  // namespace warpmark::loadtest
