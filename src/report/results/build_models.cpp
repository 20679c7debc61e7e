// Models: what a step is worth, beside the peak of the datasheet and the best of the machine's own kernels.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/results/build_parts.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

constexpr const char* kNothing = "–";
constexpr std::string_view kPhase = "phase.";

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
  double sum = 0;
  for (const auto& metric : run.metrics) sum += metric.id.starts_with(kPhase) ? metric.summary.mean : 0;
  std::string text;
  for (const auto& metric : run.metrics) {
    if (!metric.id.starts_with(kPhase)) continue;
    const auto name = metric.id.substr(kPhase.size());
    const bool decoding = name == "prefill" || name == "token";
    text += (text.empty() ? "" : ", ") + name + " " +
            (decoding || !(sum > 0) ? format_quantity(metric.summary.median, "s")
                                    : format_percent(metric.summary.mean / sum));
  }
  return text;
}

/// Where so few steps cannot tell it: how many would.
Cell percentile_cell(const Metric& metric, double p) {
  for (const auto& percentile : metric.summary.percentiles) {
    if (std::abs(percentile.p - p) > 1e-9) continue;
    if (percentile.value) return {format_quantity(*percentile.value, metric.unit)};
    return {fmt::format("needs {}", stats::samples_needed(p, 0.95)), Tone::quiet};
  }
  return {kNothing, Tone::quiet};
}

void add_phases(Table& table, const Run& run, const RunLabels& labels) {
  std::string label = labels.of(run);  // once for all of its phases
  for (const auto& metric : run.metrics) {
    if (!metric.id.starts_with(kPhase)) continue;
    const Summary& s = metric.summary;
    const auto shown = [&](double value) { return Cell{format_quantity(value, metric.unit)}; };
    table.rows.push_back({{std::exchange(label, "")},
                          {metric.id.substr(kPhase.size())},
                          {format_count(s.n)},
                          shown(s.mean),
                          shown(s.stdev),
                          shown(s.min),
                          shown(s.max),
                          shown(s.median),
                          percentile_cell(metric, 0.95),
                          percentile_cell(metric, 0.99)});
  }
}

/// "; memory: 0.6 GB before, 12.1 GB at the peak, 11.8 GB after": as the device has it, then as torch's allocator does.
std::string memory_text(const Run& run) {
  std::string text;
  for (const auto& [id, when] :
       {std::pair{"memory.baseline", "before"}, std::pair{"memory.device", "at the peak"},
        std::pair{"memory.final", "after"}, std::pair{"memory.peak_allocated", "allocated"},
        std::pair{"memory.peak_reserved", "reserved"}, std::pair{"memory.peak_resident", "resident at the peak"}}) {
    const auto* metric = metric_of(run, id);
    if (metric == nullptr) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "; memory: " : ", ", format_quantity(metric->summary.median, "B"), when);
  }
  return text;
}

/// Of a run of a fixed number of steps.
std::string loss_text(const Run& run) {
  const auto* loss = metric_of(run, "loss");
  return loss == nullptr ? "" : "; loss at the last step: " + format_significant(loss->summary.median, 4);
}

}  // namespace

std::optional<Section> targets_section(const Session& session, const RunLabels& labels) {
  Table table{{{"training"},
               {"reached", Align::right},
               {"time", Align::right},
               {"epochs", Align::right},
               {"samples", Align::right, 1},
               {"samples/s", Align::right},
               {"cost", Align::right}},
              {}};
  for (const auto& run : session.runs) {
    if (!shows_speed(run) || metric_of(run, "quality") == nullptr || metric_of(run, "epochs") == nullptr) continue;
    // "accuracy 0.91 after 3 epochs, 1536 samples": the name of the quality is its first word.
    const auto note = note_text(run, "quality");
    const auto name = std::string(note.substr(0, note.find(' ')));
    const auto number = [&](const char* id, int digits) {
      const auto* metric = metric_of(run, id);
      return metric == nullptr ? std::string() : format_significant(metric->summary.median, digits);
    };
    const auto* samples = metric_of(run, "samples");
    table.rows.push_back({{labels.of(run)},
                          {(name.empty() ? "" : name + " ") + number("quality", 4)},
                          {format_quantity(run.metrics.front().summary.median, "s")},
                          {number("epochs", 3)},
                          {samples == nullptr ? "" : format_count(std::llround(samples->summary.median))},
                          {number("samples_rate", 4)},
                          {number("cost", 3)}});
  }
  if (table.rows.empty()) return std::nullopt;
  return Section{"Training to a target", {without_empty_columns(std::move(table))}};
}

std::optional<Section> models_section(const Session& session, const RunLabels& labels) {
  Table table{{{"model"},
               {"samples/s", Align::right},
               {"tokens/s", Align::right},
               {"rate", Align::right},
               {"MFU", Align::right},
               {"of its kernels", Align::right}},
              {}};
  Table phases_table{{{"phases of"},
                      {"phase"},
                      {"n", Align::right, 4},
                      {"mean", Align::right},
                      {"sd", Align::right, 2},
                      {"min", Align::right, 3},
                      {"max", Align::right, 3},
                      {"p50", Align::right, 1},
                      {"p95", Align::right, 1},
                      {"p99", Align::right, 1}},
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
                          share_cell(run, "peak_share")});
    // The rate once more beside its unit, where programs that read text find it (`warpmark scale --throughput`).
    phases +=
        fmt::format("{}{}: {:.6g} samples/s; {}{}{}", phases.empty() ? "" : "\n", run.workload,
                    metric_of(run, "samples_rate")->summary.median, phases_text(run), loss_text(run), memory_text(run));
    add_phases(phases_table, run, labels);
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{"Models", {std::move(table)}};
  section.blocks.emplace_back(Paragraph{
      "MFU is the share of the datasheet's peak, attention in full; \"of its kernels\" the best time of the step's own "
      "products, convolutions, attentions and memory traffic on this machine, over the step's.",
      Tone::quiet});
  section.blocks.emplace_back(Paragraph{phases, Tone::quiet});
  if (!phases_table.rows.empty()) section.blocks.emplace_back(std::move(phases_table));
  return section;
}

}  // namespace warpmark::report
