// The table most people came for: each benchmark's time, rate and share of its peak.
#include <algorithm>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

constexpr double kNearThePeak = 0.8;
constexpr std::size_t kColumns = 8;
constexpr const char* kWrong = "x";
constexpr const char* kUnreliable = "?";
constexpr const char* kUnreliablePeak = " ~";
constexpr const char* kNotConverged = "!";
constexpr const char* kNone = "–";

/// FLOP/s of arithmetic, B/s of what moves data.
std::string rate_text(const Run& run) {
  const auto* rate = metric_of(run, rate_of(run));
  if (rate == nullptr) rate = metric_of(run, "flop_rate");
  if (rate == nullptr) rate = metric_of(run, "bandwidth");
  return rate == nullptr ? kNone : format_quantity(rate->summary.median, rate->unit);
}

Cell peak_cell(const Run& run) {
  if (!run.peak || run.peak->bound == Bound::unknown) return {kNone, Tone::quiet};
  if (defines_its_peak(run)) return {"defines it", Tone::quiet};
  const double share = run.peak->share;
  const Tone tone = share > kAboveThePeak ? Tone::warning : share >= kNearThePeak ? Tone::good : Tone::plain;
  // A term of the peak that was not measured can only raise the share.
  const std::string text = (run.peak->reason.empty() ? "" : ">= ") + format_percent(share);
  if (run.peak->unreliable) return {text + kUnreliablePeak, Tone::warning, share};
  return {text, tone, share};
}

/// Why the numbers of a row are to be taken with care; explained below the table.
Cell mark_cell(const Run& run) {
  if (!shows_speed(run)) return {kWrong, Tone::bad};
  if (run.outcome == Outcome::unreliable) return {kUnreliable, Tone::warning};
  if (!run.converged) return {kNotConverged, Tone::warning};
  return {};
}

std::vector<Cell> result_row(const Run& run, const RunLabels& labels) {
  const Cell mark = mark_cell(run);
  std::vector<Cell> row{mark, {labels.of(run), mark.tone}, {name_of(run.mode)}};
  if (!shows_speed(run)) {
    row.push_back({run.outcome == Outcome::failed ? "wrong" : "error", Tone::bad});
    while (row.size() < kColumns) row.push_back({kNone, Tone::quiet});
    return row;
  }
  const Metric& primary = run.metrics.front();
  const auto& interval = primary.summary.median_interval;
  row.push_back({format_quantity(primary.summary.median, primary.unit)});
  row.push_back({interval ? format_half_width(primary.summary.median, *interval) : kNone, Tone::quiet});
  row.push_back({rate_text(run)});
  row.push_back({run.peak ? name_of(run.peak->bound) : "unknown", Tone::quiet});
  row.push_back(peak_cell(run));
  return row;
}

/// Explains the marks of a table; drops their column if there are none.
std::string settle_marks(Table& table) {
  const auto has = [&](std::string_view mark) {
    return std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row.front().text == mark; });
  };
  std::string text;
  const auto explain = [&](const char* mark, const char* meaning) {
    if (has(mark)) text += (text.empty() ? "" : "  ") + std::string(mark) + " " + meaning;
  };
  explain(kWrong, "no result, see Problems.");
  explain(kUnreliable, "unreliable: the machine was disturbed.");
  explain(kNotConverged, "not converged: the interval is wider than requested.");
  if (text.empty()) {
    table.columns.erase(table.columns.begin());
    for (auto& row : table.rows) row.erase(row.begin());
  }
  const bool peaks = std::any_of(table.rows.begin(), table.rows.end(),
                                 [](const auto& row) { return row.back().text.ends_with(kUnreliablePeak); });
  if (peaks) text += (text.empty() ? "" : "  ") + std::string("~ peak measured on a disturbed machine.");
  return text;
}

std::string heading_of(const Session& session, const std::string& device) {
  for (const auto& info : session.machine.devices) {
    if (info.id == device && !info.name.empty()) return "Results on " + device + ", " + info.name;
  }
  return "Results on " + device;
}

/// Session order, without repeats.
std::vector<std::string> devices_of(const Session& session) {
  std::vector<std::string> devices;
  for (const auto& run : session.runs) {
    if (std::find(devices.begin(), devices.end(), run.device) == devices.end()) devices.push_back(run.device);
  }
  return devices;
}

}  // namespace

std::vector<Section> results_sections(const Session& session, const RunLabels& labels) {
  std::vector<Section> sections;
  for (const auto& device : devices_of(session)) {
    Table table{{{""},
                 {"benchmark"},
                 {"mode"},
                 {"median", Align::right},
                 {"±", Align::right},
                 {"rate", Align::right},
                 {"bound", Align::left, 1},
                 {"of peak", Align::right}},
                {}};
    for (const auto& run : session.runs) {
      if (run.device != device || is_command(run) || run.outcome == Outcome::unsupported ||
          run.outcome == Outcome::skipped)
        continue;
      table.rows.push_back(result_row(run, labels));
    }
    if (table.rows.empty()) continue;
    const auto marks = settle_marks(table);
    sections.push_back({heading_of(session, device), {std::move(table)}});
    if (!marks.empty()) sections.back().blocks.push_back(Paragraph{marks, Tone::quiet});
  }
  return sections;
}

}  // namespace warpmark::report
