// Results of users' commands: every metric that was declared, one row each.
#include <algorithm>

#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

std::vector<Cell> metric_row(const std::string& label, const Run& run, const Metric& metric) {
  const Summary& summary = metric.summary;
  const auto& interval = summary.median_interval;
  const Tone tone = run.outcome == Outcome::unreliable ? Tone::warning : Tone::plain;
  return {{label + (run.outcome == Outcome::unreliable ? " ?" : ""), tone},
          {metric.id},
          {format_quantity(summary.median, metric.unit)},
          {interval ? format_half_width(summary.median, *interval) : "–", Tone::quiet},
          {format_quantity(summary.min, metric.unit), Tone::quiet},
          {format_quantity(summary.max, metric.unit), Tone::quiet},
          {format_count(summary.n)}};
}

/// What only the first run pays: compiling, filling caches, choosing algorithms. Where it is within what the others
/// spread over there is nothing to tell.
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

std::optional<Section> commands_section(const Session& session, const RunLabels& labels) {
  Table table{{{"command"},
               {"metric"},
               {"median", Align::right},
               {"±", Align::right},
               {"least", Align::right, 2},
               {"most", Align::right, 3},
               {"n", Align::right, 1}},
              {}};
  bool unreliable = false;
  for (const auto& run : session.runs) {
    if (!is_command(run) || !shows_speed(run)) continue;
    unreliable = unreliable || run.outcome == Outcome::unreliable;
    std::string label = labels.params(run);
    for (const auto& metric : run.metrics) {
      table.rows.push_back(metric_row(label, run, metric));
      label.clear();
    }
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{"Results of commands", {std::move(table)}};
  for (const auto& run : session.runs) {
    if (!is_command(run) || !shows_speed(run)) continue;
    if (auto text = first_run_text(run, labels.params(run)); !text.empty()) {
      section.blocks.emplace_back(Paragraph{std::move(text), Tone::quiet});
    }
  }
  if (unreliable) section.blocks.emplace_back(Paragraph{"? unreliable: the machine was disturbed.", Tone::quiet});
  return section;
}

}  // namespace warpmark::report
