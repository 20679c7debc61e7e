#include "report/build/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "report/build/verdict_tone.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

std::string value_text(const Matrix& matrix, const MatrixCell& cell) {
  const auto& metric = matrix.metrics[cell.metric];
  if (metric.id == "cost") return format_significant(cell.median, 3);
  return format_quantity(cell.median, metric.unit == "J per 1000" ? "J" : metric.unit);
}

std::string column_name(const Matrix& matrix, std::size_t metric) {
  const auto& item = matrix.metrics[metric];
  if (item.id == "cost") return matrix.currency.empty() ? "cost/1000" : matrix.currency + "/1000";
  return item.unit == "J per 1000" ? item.id + "/1000" : item.id;
}

/// What the command declares, and not what is measured of every command next to it.
bool is_declared(const Matrix& matrix, std::size_t metric) {
  return matrix.metrics[metric].id != "time" && std::ranges::any_of(matrix.variants, [&](const MatrixVariant& variant) {
           const auto* cell = cell_of(variant, metric);
           return cell != nullptr && cell->verdict && !cell->verdict->auxiliary;
         });
}

/// The metrics of the main table: objectives first, then the usual ones that exist, then what the command declares.
std::vector<std::size_t> main_metrics(const Matrix& matrix) {
  std::vector<std::size_t> chosen;
  const auto add = [&](const std::string& id) {
    for (std::size_t m = 0; m < matrix.metrics.size(); ++m) {
      if (matrix.metrics[m].id != id || std::find(chosen.begin(), chosen.end(), m) != chosen.end()) continue;
      chosen.push_back(m);
    }
  };
  for (const auto& id : matrix.objectives) add(id);
  for (const char* id : {"throughput", "p50", "p99", "peak_memory", "energy", "cost"}) add(id);
  for (std::size_t m = 0; m < matrix.metrics.size(); ++m) {
    if (is_declared(matrix, m)) add(matrix.metrics[m].id);
  }
  if (chosen.empty()) add("time");
  return chosen;
}

std::string state_of(const MatrixVariant& variant) {
  if (variant.runs == 0) return variant.failures > 0 ? "failed" : "not run";
  if (variant.failures == 0) return "";
  return fmt::format("failed {} of {}", variant.failures, variant.failures + variant.runs);
}

/// Against the baseline, by the first objective.
Cell verdict_cell(const Matrix& matrix, const MatrixVariant& variant) {
  if (variant.baseline) return {"baseline", Tone::quiet};
  const auto state = state_of(variant);
  if (variant.runs == 0) return {state, Tone::bad};
  const auto chosen = main_metrics(matrix);
  const auto* cell = chosen.empty() ? nullptr : cell_of(variant, chosen.front());
  if (cell == nullptr || !cell->verdict) return {state, Tone::warning};
  const auto& verdict = *cell->verdict;
  std::string text = name_of(verdict.verdict);
  if (verdict.ratio) text += fmt::format(" x{:.3g}", *verdict.ratio);
  return {text + (state.empty() ? "" : ", " + state), tone_of(verdict.verdict)};
}

Table variants_table(const Matrix& matrix) {
  Table table;
  for (const auto& axis : matrix.axes) table.columns.push_back({axis.name});
  const auto chosen = main_metrics(matrix);
  int optional = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const bool objective = i < matrix.objectives.size();
    table.columns.push_back({column_name(matrix, chosen[i]), Align::right, objective ? 0 : ++optional});
  }
  table.columns.push_back({"verdict", Align::right});
  table.columns.push_back({"front"});
  for (const auto& variant : matrix.variants) {
    auto& row = table.rows.emplace_back();
    for (std::size_t axis = 0; axis < matrix.axes.size(); ++axis) {
      row.push_back({matrix.axes[axis].labels[variant.choice[axis]]});
    }
    for (const auto metric : chosen) {
      const auto* cell = cell_of(variant, metric);
      row.push_back({cell == nullptr ? "" : value_text(matrix, *cell)});
    }
    row.push_back(verdict_cell(matrix, variant));
    row.push_back({variant.on_front ? "*" : "", Tone::good});
  }
  return table;
}

std::string objectives_text(const Matrix& matrix) {
  std::string text;
  for (const auto& id : matrix.objectives) {
    for (const auto& metric : matrix.metrics) {
      if (metric.id != id) continue;
      text += (text.empty() ? "" : ", ") + id + (metric.better == Better::higher ? " (higher)" : " (lower)");
    }
  }
  return text;
}

/// The variant with the best median of the first objective, with its ratio to the baseline; empty before any ran.
std::string headline(const Matrix& matrix) {
  const auto chosen = main_metrics(matrix);
  if (chosen.empty()) return {};
  const bool higher = matrix.metrics[chosen.front()].better == Better::higher;
  const MatrixVariant* best = nullptr;
  const MatrixCell* best_cell = nullptr;
  for (const auto& variant : matrix.variants) {
    const auto* cell = cell_of(variant, chosen.front());
    if (cell == nullptr) continue;
    if (best_cell != nullptr && (higher ? cell->median <= best_cell->median : cell->median >= best_cell->median)) {
      continue;
    }
    best = &variant, best_cell = cell;
  }
  if (best == nullptr) return {};
  std::string text =
      fmt::format("Best {}: {} with {}", matrix.metrics[chosen.front()].id, value_text(matrix, *best_cell), best->name);
  const auto& verdict = best_cell->verdict;
  if (best->baseline || !verdict) return text + (best->baseline ? ", the baseline." : ".");
  if (verdict->ratio) text += fmt::format(", {:.3g}x of the baseline", *verdict->ratio);
  if (verdict->interval) text += fmt::format(" [{:.3g}x, {:.3g}x]", verdict->interval->low, verdict->interval->high);
  return text + ": " + name_of(verdict->verdict) + ".";
}

Section summary(const Matrix& matrix) {
  Section section;
  if (auto text = headline(matrix); !text.empty()) section.blocks.push_back(Paragraph{std::move(text)});
  if (!matrix.summary.empty()) section.blocks.push_back(Paragraph{matrix.summary, Tone::quiet});
  section.blocks.push_back(variants_table(matrix));
  const auto chosen = main_metrics(matrix);
  if (!chosen.empty()) {
    section.blocks.push_back(
        Paragraph{"Verdict: " + matrix.metrics[chosen.front()].id +
                      " against the baseline's. x is the geometric mean of the ratios within the rounds, in which the "
                      "drift of the machine cancels: the ratio of the medians next to it may differ.",
                  Tone::quiet});
  }
  if (!matrix.objectives.empty()) {
    section.blocks.push_back(
        Paragraph{"* on the Pareto front of " + objectives_text(matrix) +
                      ", by medians: no other variant is at least as good in all of them and better in one.",
                  Tone::quiet});
  }
  for (const auto& variant : matrix.variants) {
    if (variant.failures == 0) continue;
    const std::string hint = variant.hint.empty() ? "" : " (" + variant.hint + ")";
    section.blocks.push_back(Paragraph{
        fmt::format("{} failed {} of {} runs{}: {}{}", variant.name, variant.failures, variant.failures + variant.runs,
                    variant.stopped_early ? " and was stopped" : "", variant.reason, hint),
        Tone::bad});
  }
  section.blocks.push_back(Paragraph{
      fmt::format("Stopped: {}. Each round runs every variant once, in a fresh process and a random order (seed {}). "
                  "Verdicts: paired t test on the rounds' log ratios, p adjusted over all variants and metrics (Holm); "
                  "differences below {} do not matter.",
                  matrix.stopped_because, matrix.seed, format_percent(matrix.effect)),
      Tone::quiet});
  for (const auto& note : matrix.notes) section.blocks.push_back(Paragraph{note + ".", Tone::quiet});
  return section;
}

Section details(const Matrix& matrix, const MatrixVariant& variant) {
  Table table{{{"metric"},
               {"median", Align::right},
               {"95 %", Align::right},
               {"runs", Align::right},
               {"ratio", Align::right},
               {"interval", Align::right},
               {"p", Align::right},
               {"verdict"},
               {"why"}},
              {}};
  for (const auto& cell : variant.cells) {
    const auto* verdict = cell.verdict ? &*cell.verdict : nullptr;
    const bool ratio = verdict != nullptr && verdict->ratio;
    const bool interval = verdict != nullptr && verdict->interval;
    const bool p = verdict != nullptr && verdict->adjusted_p;
    table.rows.push_back(
        {{matrix.metrics[cell.metric].id},
         {value_text(matrix, cell)},
         {cell.interval && cell.median > 0 ? format_half_width(cell.median, *cell.interval) : ""},
         {std::to_string(cell.values.size())},
         {ratio ? fmt::format("{:.4f}", *verdict->ratio) : ""},
         {interval ? fmt::format("{:.4f} .. {:.4f}", verdict->interval->low, verdict->interval->high) : ""},
         {p ? *verdict->adjusted_p < 0.001 ? "<0.001" : fmt::format("{:.3f}", *verdict->adjusted_p) : ""},
         {verdict != nullptr ? name_of(verdict->verdict) : "baseline",
          verdict != nullptr ? tone_of(verdict->verdict) : Tone::quiet},
         {verdict != nullptr ? verdict->reason : ""}});
  }
  Section section{variant.name, {}, true};
  section.blocks.push_back(Paragraph{variant.command, Tone::plain, true});
  section.blocks.push_back(std::move(table));
  return section;
}

/// The front as a picture: the first two objectives. Variants on the front have names, where the colours suffice.
std::optional<Plot> front_plot(const Matrix& matrix) {
  const auto chosen = main_metrics(matrix);
  if (matrix.objectives.size() < 2 || chosen.size() < 2) return std::nullopt;
  const auto axis = [&](std::size_t metric) {
    return Axis{.title = column_name(matrix, metric), .unit = matrix.metrics[metric].unit};
  };
  Plot plot{.title = "Pareto front", .x = axis(chosen[0]), .y = axis(chosen[1]), .series = {}};
  constexpr std::ptrdiff_t kMostNamed = 6;
  const bool named = std::count_if(matrix.variants.begin(), matrix.variants.end(),
                                   [](const auto& variant) { return variant.on_front; }) <= kMostNamed;
  Series others{.name = "not on the front", .points = {}, .line = false};
  for (const auto& variant : matrix.variants) {
    const auto* x = cell_of(variant, chosen[0]);
    const auto* y = cell_of(variant, chosen[1]);
    if (x == nullptr || y == nullptr) continue;
    if (!variant.on_front) {
      others.points.emplace_back(x->median, y->median);
      continue;
    }
    if (named || plot.series.empty()) {
      plot.series.push_back({.name = named ? variant.name : "on the front", .points = {}, .line = false});
    }
    plot.series.back().points.emplace_back(x->median, y->median);
  }
  if (!others.points.empty()) plot.series.push_back(std::move(others));
  return plot;
}

/// One square a variant with the given rows and columns, the other axes fixed as in `first`.
HeatMap map_of(const Matrix& matrix, std::size_t metric, std::size_t rows, std::size_t columns,
               const std::vector<std::size_t>& fixed) {
  const Better better = matrix.metrics[metric].better;
  const char* direction = better == Better::lower    ? " (lower is better)"
                          : better == Better::higher ? " (higher is better)"
                                                     : "";
  HeatMap map{.title = column_name(matrix, metric) + direction,
              .row_axis = matrix.axes[rows].name,
              .column_axis = matrix.axes[columns].name,
              .mark = "on the front",
              .rows = matrix.axes[rows].labels,
              .columns = matrix.axes[columns].labels,
              .squares = {}};
  for (std::size_t axis = 0; axis < matrix.axes.size(); ++axis) {
    if (axis == rows || axis == columns) continue;
    map.title += ", " + matrix.axes[axis].name + "=" + matrix.axes[axis].labels[fixed[axis]];
  }
  map.squares.assign(map.rows.size(), std::vector<HeatMap::Square>(map.columns.size(), {.text = "-"}));
  for (const auto& variant : matrix.variants) {
    bool here = true;
    for (std::size_t axis = 0; axis < matrix.axes.size(); ++axis) {
      here = here && (axis == rows || axis == columns || variant.choice[axis] == fixed[axis]);
    }
    if (!here) continue;
    auto& square = map.squares[variant.choice[rows]][variant.choice[columns]];
    const auto* cell = cell_of(variant, metric);
    square.marked = variant.on_front;
    square.text = cell == nullptr ? state_of(variant) : value_text(matrix, *cell);
    if (cell != nullptr) square.value = cell->median;
  }
  return map;
}

}  // namespace

std::vector<HeatMap> heat_maps(const Matrix& matrix) {
  std::vector<HeatMap> maps;
  if (matrix.axes.size() < 2) return maps;
  std::vector<std::size_t> axes(matrix.axes.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) {
    return matrix.axes[a].labels.size() > matrix.axes[b].labels.size();
  });
  const std::size_t rows = std::min(axes[0], axes[1]), columns = std::max(axes[0], axes[1]);
  // A map of one or two squares says less than the table.
  constexpr int kFewestSquares = 3;
  std::map<std::vector<std::size_t>, int> fixed;
  for (const auto& variant : matrix.variants) {
    auto others = variant.choice;
    others[rows] = others[columns] = 0;
    ++fixed[others];
  }
  constexpr std::size_t kMostMaps = 40;
  for (const auto metric : main_metrics(matrix)) {
    for (const auto& [others, squares] : fixed) {
      if (squares >= kFewestSquares && maps.size() < kMostMaps)
        maps.push_back(map_of(matrix, metric, rows, columns, others));
    }
  }
  return maps;
}

Report build_report(const Matrix& matrix) {
  Report report{.title = "Matrix: " + matrix.name, .subtitle = matrix.started, .sections = {}};
  report.sections.push_back(summary(matrix));
  Section maps{"Heat maps", {}, false};
  for (auto& map : heat_maps(matrix)) maps.blocks.emplace_back(std::move(map));
  if (!maps.blocks.empty()) report.sections.push_back(std::move(maps));
  if (auto plot = front_plot(matrix)) report.sections.push_back({"Front", {std::move(*plot)}, false});
  for (const auto& variant : matrix.variants) report.sections.push_back(details(matrix, variant));
  return report;
}

}  // namespace warpmark::report
