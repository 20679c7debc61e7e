// Where a command in stages spends its time, and what of it is paid whatever the size.
#include <fmt/format.h>

#include <algorithm>

#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/results/build_parts.h"
#include "report/results/stages.h"

namespace warpmark::report {
namespace {

Cell limit_cell(const Stage& stage) {
  if (stage.limit == LimitState::none) return {};
  const Tone tone = stage.limit == LimitState::met      ? Tone::good
                    : stage.limit == LimitState::missed ? Tone::bad
                                                        : Tone::warning;
  return {fmt::format("{}, {}", format_duration(stage.limit_s), name_of(stage.limit)), tone};
}

std::vector<Cell> stage_row(const std::string& name, const Stage& stage, bool gains) {
  return {{name},
          {format_quantity(stage.seconds, "s")},
          {stage.interval ? format_half_width(stage.seconds, *stage.interval) : "–", Tone::quiet},
          {format_percent(stage.share), Tone::plain, stage.share},
          {stage.items > 0 && stage.seconds > 0 ? format_quantity(stage.items / stage.seconds, "1/s") : ""},
          {stage.items > 0 ? format_quantity(stage.seconds / stage.items, "s") : ""},
          {gains ? fmt::format("{:.2f}x", stage.gain_doubled) : ""},
          limit_cell(stage)};
}

Table stages_table(const StagedRun& staged) {
  Table table{{{"stage"},
               {"median", Align::right},
               {"±", Align::right, 4},
               {"share", Align::right},
               {"items/s", Align::right, 2},
               {"per item", Align::right, 1},
               {"if 2x faster", Align::right, 3},
               {"limit"}},
              {}};
  for (const auto& stage : staged.stages) table.rows.push_back(stage_row(stage.name, stage, true));
  constexpr double kWorthSaying = 0.005;
  if (staged.outside > kWorthSaying) {
    table.rows.push_back({{"outside of them", Tone::quiet},
                          {format_quantity(staged.outside * staged.all.seconds, "s"), Tone::quiet},
                          {},
                          {format_percent(staged.outside), Tone::quiet, staged.outside}});
  }
  table.rows.push_back(stage_row("all", staged.all, false));
  return table;
}

/// Each limit that is not met, with what was measured.
void add_limits(const StagedRun& staged, Section& section) {
  const auto add = [&](const std::string& name, const Stage& stage) {
    if (stage.limit != LimitState::missed && stage.limit != LimitState::undecided) return;
    const bool missed = stage.limit == LimitState::missed;
    const std::string measured = format_quantity(stage.seconds, "s") +
                                 (stage.interval ? " ± " + format_half_width(stage.seconds, *stage.interval) : "");
    section.blocks.emplace_back(Paragraph{fmt::format("{} takes {}, {} its limit of {}.", name, measured,
                                                      missed ? "over" : "maybe over", format_duration(stage.limit_s)),
                                          missed ? Tone::bad : Tone::warning});
  };
  for (const auto& stage : staged.stages) add(stage.name, stage);
  add("The whole", staged.all);
}

/// Which stage to look at first, in a sentence.
std::string where_to_begin(const StagedRun& staged) {
  const auto most = std::max_element(staged.stages.begin(), staged.stages.end(),
                                     [](const Stage& a, const Stage& b) { return a.share < b.share; });
  return fmt::format(
      "{} takes most: 2x faster it makes the whole {:.2f}x faster, and no speedup of it alone more "
      "than {:.3g}x.",
      most->name, most->gain_doubled, 1 / std::max(0.001, 1 - most->share));
}

std::string seconds_between(double value, const Interval& interval) {
  return fmt::format("{} ({} .. {})", format_quantity(value, "s"), format_quantity(std::max(0.0, interval.low), "s"),
                     format_quantity(interval.high, "s"));
}

Table sizes_table(const SizeFit& fit) {
  Table table{{{fit.parameter, Align::right}, {"median", Align::right}, {"fixed cost", Align::right}, {"remark"}}, {}};
  for (const auto& size : fit.sizes) {
    table.rows.push_back({{format_quantity(size.items, "")},
                          {format_quantity(size.seconds, "s")},
                          {fit.straight ? format_percent(size.fixed_share) : "–"},
                          {size.too_small ? "too small" : "", Tone::warning}});
  }
  return table;
}

}  // namespace

std::vector<Section> stages_sections(const Session& session, const RunLabels& labels) {
  std::vector<Section> sections;
  for (const auto& staged : stages_of(session)) {
    const auto run =
        std::find_if(session.runs.begin(), session.runs.end(), [&](const Run& one) { return one.index == staged.run; });
    sections.push_back({"Stages of " + (is_command(*run) ? labels.params(*run) : labels.of(*run)),
                        {without_empty_columns(stages_table(staged))}});
    sections.back().blocks.emplace_back(Paragraph{where_to_begin(staged)});
    add_limits(staged, sections.back());
  }
  for (const auto& fit : size_fits_of(session)) {
    Section section{"Cost by " + fit.parameter, {sizes_table(fit)}};
    section.blocks.emplace_back(Paragraph{fmt::format(
        "A run has a fixed cost of {}, and {} for each {}.", seconds_between(fit.fixed_s, fit.fixed_interval),
        seconds_between(fit.per_item_s, fit.per_item_interval), fit.parameter)});
    if (!fit.straight) {
      section.blocks.emplace_back(Paragraph{
          "The times do not lie on a line: the cost of an item changes with the size, so both numbers are unreliable.",
          Tone::warning});
    }
    const bool small = std::any_of(fit.sizes.begin(), fit.sizes.end(), [](const auto& size) { return size.too_small; });
    if (small) {
      section.blocks.emplace_back(
          Paragraph{"Too small: more than half of such a run is the fixed cost, so it says little about the work.",
                    Tone::warning});
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace warpmark::report
