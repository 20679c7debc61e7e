// Results that have no peak: every metric that was declared or measured, one row each. Commands, loads on servers,
// scores, results of other tools.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kMaxRows = 40;  // above: one metric a result

std::string percentile_text(const Metric& metric, double p) {
  for (const auto& percentile : metric.summary.percentiles) {
    if (std::abs(percentile.p - p) < 1e-9 && percentile.value) return format_quantity(*percentile.value, metric.unit);
  }
  return {};
}

std::vector<Cell> metric_row(const std::string& label, const Run& run, const Metric& metric) {
  const Summary& summary = metric.summary;
  const Tone tone = run.outcome == Outcome::unreliable ? Tone::warning : Tone::plain;
  const bool several = summary.n > 1;
  return {{label + (run.outcome == Outcome::unreliable ? " ?" : ""), tone},
          {metric.id},
          {format_quantity(summary.median, metric.unit)},
          {metric_interval(run, metric), Tone::quiet},
          {several ? format_quantity(summary.min, metric.unit) : "", Tone::quiet},
          {several ? format_quantity(summary.max, metric.unit) : "", Tone::quiet},
          {percentile_text(metric, 0.95)},
          {percentile_text(metric, 0.99)},
          {metric_count(run, metric)}};
}

/// What only the first run pays: compiling, filling caches, choosing algorithms. Empty where it is within the spread
/// of the others.
std::string first_run_text(const Run& run, const std::string& label) {
  const Metric* time = metric_of(run, "time");
  if (!run.warmup.first_s || time == nullptr) return {};
  const double first_s = *run.warmup.first_s, over_s = first_s - time->summary.median;
  if (first_s <= time->summary.max) return {};
  return label + ": the first run took " + format_quantity(first_s, "s") + ", " + format_quantity(over_s, "s") +
         " over the median; it is not among the results.";
}

}  // namespace

bool is_command(const Run& run) { return run.workload == "command" && run.device == "host"; }

bool shown_by_metrics(const Run& run) {
  if (is_command(run)) return true;
  const bool rated = metric_of(run, "flop_rate") != nullptr || metric_of(run, "bandwidth") != nullptr;
  return shows_speed(run) && !rated && !run.peak && run.cost.flops == 0 && run.cost.bytes == 0;
}

std::string metric_interval(const Run& run, const Metric& metric) {
  const auto& interval = metric.summary.median_interval;
  if (!interval) return std::string(note_text(run, "interval"));
  return "[" + format_quantity(interval->low, metric.unit) + ", " + format_quantity(interval->high, metric.unit) + "]";
}

std::string metric_count(const Run& run, const Metric& metric) {
  const auto n = note_text(run, "n");
  return n.empty() ? format_count(metric.summary.n) : std::string(n);
}

std::optional<Section> metrics_section(const Session& session, const RunLabels& labels) {
  Table table{{{"result"},
               {"metric"},
               {"median", Align::right},
               {"95 % interval", Align::right},
               {"min", Align::right, 3},
               {"max", Align::right, 4},
               {"p95", Align::right, 2},
               {"p99", Align::right, 2},
               {"n", Align::right, 1}},
              {}};
  bool unreliable = false;
  std::size_t rows = 0;
  std::vector<const Run*> runs;
  for (const auto& run : session.runs) {
    if (!shows_speed(run) || !shown_by_metrics(run)) continue;
    runs.push_back(&run);
    rows += run.metrics.size();
    unreliable = unreliable || run.outcome == Outcome::unreliable;
  }
  if (runs.empty()) return std::nullopt;
  const bool all = rows <= kMaxRows;
  Section section{"Results", {}};
  for (const Run* run : runs) {
    std::string label = labels.plain(*run);
    if (auto text = first_run_text(*run, label); !text.empty()) {
      section.blocks.emplace_back(Paragraph{std::move(text), Tone::quiet});
    }
    for (const auto& metric : run->metrics) {
      if (metric.summary.n == 0 || (!all && !speaks_for_itself(*run, metric))) continue;
      table.rows.push_back(metric_row(label, *run, metric));
      label.clear();
    }
  }
  section.blocks.insert(section.blocks.begin(), without_empty_columns(std::move(table)));
  if (!all) section.blocks.emplace_back(Paragraph{"Further metrics of each result: --details.", Tone::quiet});
  if (unreliable) section.blocks.emplace_back(Paragraph{"? unreliable: the machine was disturbed.", Tone::quiet});
  return section;
}

}  // namespace warpmark::report
