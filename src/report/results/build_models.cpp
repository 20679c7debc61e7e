// Models: what a step is worth, beside the peak of the datasheet and the best of the machine's own kernels.
#include <fmt/format.h>

#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

constexpr const char* kNothing = "–";

Cell quantity_cell(const Run& run, const char* id) {
  const auto* metric = metric_of(run, id);
  if (metric == nullptr) return {kNothing, Tone::quiet};
  return {metric->unit == "1/s" ? fmt::format("{:.4g}", metric->summary.median)
                                : format_quantity(metric->summary.median, metric->unit)};
}

Cell share_cell(const Run& run, const char* id) {
  const auto* metric = metric_of(run, id);
  if (metric == nullptr) return {kNothing, Tone::quiet};
  return {format_percent(metric->summary.median), Tone::plain, metric->summary.median};
}

/// "data 2 %, forward 31 %, backward 60 %": medians of the windows with marks.
std::string phases_text(const Run& run) {
  constexpr std::string_view kPrefix = "phase.";
  double sum = 0;
  for (const auto& metric : run.metrics) sum += metric.id.starts_with(kPrefix) ? metric.summary.mean : 0;
  std::string text;
  for (const auto& metric : run.metrics) {
    if (!metric.id.starts_with(kPrefix)) continue;
    const auto name = metric.id.substr(kPrefix.size());
    const bool decoding = name == "prefill" || name == "token";
    text += (text.empty() ? "" : ", ") + name + " " +
            (decoding || !(sum > 0) ? format_quantity(metric.summary.median, "s")
                                    : format_percent(metric.summary.mean / sum));
  }
  return text;
}

}  // namespace

std::optional<Section> models_section(const Session& session, const RunLabels& labels) {
  Table table{{{"model"},
               {"samples/s", Align::right},
               {"tokens/s", Align::right},
               {"rate", Align::right},
               {"MFU", Align::right},
               {"of its kernels", Align::right}},
              {}};
  std::string phases;
  for (const auto& run : session.runs) {
    if (!shows_speed(run) || metric_of(run, "samples_rate") == nullptr || metric_of(run, "first_step") == nullptr)
      continue;
    table.rows.push_back({{labels.of(run)},
                          quantity_cell(run, "samples_rate"),
                          quantity_cell(run, "tokens_rate"),
                          quantity_cell(run, "flop_rate"),
                          share_cell(run, "mfu"),
                          share_cell(run, "roof_share")});
    // The rate once more beside its unit, where programs that read text find it (`warpmark scale --throughput`).
    phases += fmt::format("{}{}: {:.6g} samples/s; {}", phases.empty() ? "" : "\n", run.workload,
                          metric_of(run, "samples_rate")->summary.median, phases_text(run));
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{"Models", {std::move(table)}};
  section.blocks.emplace_back(Paragraph{
      "MFU is the share of the datasheet's peak, attention in full; \"of its kernels\" the best time of the step's own "
      "products, convolutions, attentions and memory traffic on this machine, over the step's.",
      Tone::quiet});
  section.blocks.emplace_back(Paragraph{phases, Tone::quiet});
  return section;
}

}  // namespace warpmark::report
