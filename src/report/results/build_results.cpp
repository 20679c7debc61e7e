// The table most people came for: each benchmark's time, rate and share of its peak.
#include <algorithm>
#include <cmath>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/results/build_parts.h"
#include "report/results/device_groups.h"

namespace warpmark::report {
namespace {

constexpr double kNearThePeak = 0.8;
constexpr std::size_t kColumns = 9, kTrafficColumn = 6;
constexpr const char* kWrong = "x";
constexpr const char* kUnreliable = "?";
constexpr const char* kUnreliablePeak = " ~";
constexpr const char* kNotConverged = "!";
constexpr const char* kNone = "–";
constexpr const char* kOfPeak = "of peak: of the highest rate measured on the same device, see Measured peaks.";

/// FLOP/s of arithmetic, B/s of what moves data.
std::string rate_text(const Run& run) {
  const auto* rate = metric_of(run, rate_of(run));
  if (rate == nullptr) rate = metric_of(run, "flop_rate");
  if (rate == nullptr) rate = metric_of(run, "bandwidth");
  return rate == nullptr ? kNone : format_quantity(rate->summary.median, rate->unit);
}

/// Of work that is rated by its arithmetic also what it moves.
Cell traffic_cell(const Run& run) {
  const auto* moved = metric_of(run, "bandwidth");
  const bool rated = metric_of(run, rate_of(run)) == moved;
  return {moved == nullptr || rated ? "" : format_quantity(moved->summary.median, moved->unit), Tone::quiet};
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
    while (row.size() < kColumns) row.push_back({row.size() == kTrafficColumn ? "" : kNone, Tone::quiet});
    return row;
  }
  const Metric& primary = run.metrics.front();
  const auto& interval = primary.summary.median_interval;
  row.push_back({format_quantity(primary.summary.median, primary.unit)});
  row.push_back({interval ? format_half_width(primary.summary.median, *interval) : kNone, Tone::quiet});
  row.push_back({rate_text(run)});
  row.push_back(traffic_cell(run));
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
  const bool shares = std::ranges::any_of(table.rows, [](const auto& row) { return row.back().text != kNone; });
  if (shares) text += (text.empty() ? "" : "  ") + std::string(kOfPeak);
  return text;
}

std::string heading_of(const Session& session, const std::string& device) {
  for (const auto& info : session.machine.devices) {
    if (info.id == device && !info.name.empty()) return "Results on " + device + ", " + info.name;
  }
  return "Results on " + device;
}

bool is_shown(const Run& run) {
  return !shown_by_metrics(run) && run.outcome != Outcome::unsupported && run.outcome != Outcome::skipped;
}

std::optional<Section> device_section(const Session& session, const std::string& device, const RunLabels& labels) {
  Table table{{{""},
               {"benchmark"},
               {"mode"},
               {"median", Align::right},
               {"±", Align::right},
               {"rate", Align::right},
               {"bandwidth", Align::right, 2},
               {"bound", Align::left, 1},
               {"of peak", Align::right}},
              {}};
  for (const auto& run : session.runs) {
    if (run.device == device && is_shown(run)) table.rows.push_back(result_row(run, labels));
  }
  if (table.rows.empty()) return std::nullopt;
  const auto marks = settle_marks(table);
  Section section{heading_of(session, device), {without_empty_columns(std::move(table))}};
  if (!marks.empty()) section.blocks.push_back(Paragraph{marks, Tone::quiet});
  return section;
}

/// The run in the middle, whose rate and share stand for all.
const Run& middle_of(const std::vector<const Run*>& runs, double median) {
  return **std::min_element(runs.begin(), runs.end(), [&](const Run* a, const Run* b) {
    const auto away = [&](const Run* run) {
      return shows_speed(*run) ? std::abs(run->metrics.front().summary.median - median) : 1e300;
    };
    return away(a) < away(b);
  });
}

/// One row a benchmark, whatever the number of GPUs; who is slower than the others is named.
std::optional<Section> group_section(const Session& session, const DeviceGroup& group, const RunLabels& labels) {
  Table table{{{"benchmark"},
               {"mode"},
               {"median", Align::right},
               {"spread", Align::right},
               {"rate", Align::right},
               {"of peak", Align::right},
               {"GPUs", Align::right, 1},
               {"outlier"}},
              {}};
  for (const auto& runs : cases_of(session, group)) {
    const auto shown = std::count_if(runs.begin(), runs.end(), [](const Run* run) { return shows_speed(*run); });
    if (shown == 0 || !is_shown(*runs.front())) continue;
    const auto spread = spread_of(runs);
    const Run& middle = middle_of(runs, spread.median);
    const auto missing = static_cast<std::int64_t>(runs.size()) - shown;
    table.rows.push_back(
        {{labels.of(middle)},
         {name_of(middle.mode)},
         {format_quantity(spread.median, middle.metrics.front().unit)},
         {format_percent(spread.spread), Tone::quiet},
         {rate_text(middle)},
         peak_cell(middle),
         {format_count(shown) + (missing > 0 ? " of " + format_count(static_cast<std::int64_t>(runs.size())) : ""),
          missing > 0 ? Tone::warning : Tone::quiet},
         {spread.outlier.empty() ? "" : spread.outlier + " " + format_change(1 + spread.outlier_change),
          Tone::warning}});
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{"Results on " + group.label() + ", " + std::to_string(group.ids.size()) + " x " + group.name,
                  {without_empty_columns(std::move(table))}};
  section.blocks.push_back(Paragraph{
      "Median of the GPUs' medians; spread is (slowest - fastest) / median; an outlier is slower than the others by "
      "more than 5 %. Each GPU by itself: --details. " +
          std::string(kOfPeak),
      Tone::quiet});
  return section;
}

}  // namespace

std::vector<Section> results_sections(const Session& session, const RunLabels& labels) {
  std::vector<Section> sections;
  for (const auto& group : device_groups(session)) {
    auto together = group.ids.size() > 1 ? group_section(session, group, labels) : std::nullopt;
    const bool grouped = together.has_value();
    if (grouped) sections.push_back(std::move(*together));
    for (const auto& device : group.ids) {
      auto section = device_section(session, device, labels);
      if (!section) continue;
      section->detail = grouped;
      sections.push_back(std::move(*section));
    }
  }
  return sections;
}

}  // namespace warpmark::report
