#include "warpmark/load/pages/load_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "warpmark/load/load.h"

namespace warpmark::apps {
namespace {

using serving::ScenarioResult;

double level_of(const ScenarioResult& result) {
  return result.arrivals == "closed" ? static_cast<double>(result.users) : result.rate;
}

/// A number of each load over the load, a line for each scenario; empty where there are no two loads of one.
Plot plot_over_load(const serving::LoadReport& report, const char* title, const char* id, double p) {
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

void add_lines(Section& section, const std::string& text, Tone tone = Tone::plain) {
  for (const auto& line : split(text, '\n')) {
    if (!line.empty()) section.blocks.push_back(Paragraph{line, line.starts_with("WARNING") ? Tone::warning : tone});
  }
}

Section section_of(const ScenarioResult& result) {
  Section section{result.scenario + ", " + level_text(result), {}};
  const LoadText text = load_text_of(result);
  add_lines(section, text.before);
  if (!text.latencies.rows.empty()) section.blocks.push_back(text.latencies);
  add_lines(section, text.after);
  add_lines(section, text.client, result.client.trusted ? Tone::quiet : Tone::warning);
  return section;
}

}  // namespace

Report load_page_of(const serving::LoadReport& report) {
  Report page{.title = "Load test", .subtitle = report.command};
  if (report.scenarios.size() > 1) {
    Section all{"All loads", {load_summary_of(report.scenarios)}};
    for (auto& plot :
         {plot_over_load(report, "output tokens/s", "output_throughput", -1),
          plot_over_load(report, "TTFT p95", "ttft", 0.95), plot_over_load(report, "TPOT p95", "tpot", 0.95)}) {
      if (!plot.series.empty()) all.blocks.push_back(plot);
    }
    page.sections.push_back(std::move(all));
  }
  for (const auto& result : report.scenarios) page.sections.push_back(section_of(result));
  Section about{"About", {}};
  for (const auto& [key, value] : report.target) about.blocks.push_back(Paragraph{key + ": " + value, Tone::quiet});
  for (const auto& note : report.notes) about.blocks.push_back(Paragraph{note, Tone::quiet});
  page.sections.push_back(std::move(about));
  return page;
}

}  // namespace warpmark::apps
