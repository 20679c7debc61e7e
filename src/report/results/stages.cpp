#include "report/results/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/units.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/results/build_parts.h"
#include "stats/scaling_fit.h"

namespace warpmark::report {
namespace {

constexpr double kTooSmall = 0.5;  // share of the fixed cost from which a size tells more of it than of the work
constexpr double kStraight = 0.2;  // misfit of a size's mean time, as a ratio

double noted_number(const Run& run, std::string_view prefix, const std::string& stage) {
  const std::string wanted = std::string(prefix) + stage;
  for (const auto& [name, text] : run.notes) {
    if (name != wanted) continue;
    const auto value = parse_number(text);
    return value.ok() ? *value : 0;
  }
  return 0;
}

/// Of too few samples for an interval all must lie on one side.
LimitState state_of(const Stage& stage, const Summary& times) {
  if (!(stage.limit_s > 0)) return LimitState::none;
  const Interval known = stage.interval.value_or(Interval{times.min, times.max});
  if (known.high <= stage.limit_s) return LimitState::met;
  return known.low > stage.limit_s ? LimitState::missed : LimitState::undecided;
}

Stage stage_of(const Run& run, const Metric& metric, std::string name) {
  Stage stage{.seconds = metric.summary.median, .interval = metric.summary.median_interval};
  stage.items = noted_number(run, kStageItems, name);
  stage.limit_s = noted_number(run, kStageLimit, name);
  stage.name = std::move(name);
  stage.limit = state_of(stage, metric.summary);
  return stage;
}

/// What all others of a series have in common, and the number in which they differ.
struct SizedRun {
  std::string parameter;
  std::string rest;
  double value = 0;
};

std::vector<SizedRun> sized(const Run& run) {
  std::vector<SizedRun> found;
  for (const auto& [name, value] : run.params.items()) {
    if (name == "command" || name == "name") continue;
    const auto number = parse_number(to_text(value));
    if (!number.ok() || !(*number > 0)) continue;
    std::string rest;
    for (const auto& [other, text] : run.params.items()) {
      if (other != name && other != "command") rest += other + "=" + to_text(text) + "\n";
    }
    found.push_back({name, std::move(rest), *number});
  }
  return found;
}

std::optional<SizeFit> fit_of(const std::string& parameter, const std::map<double, const Run*>& runs) {
  std::vector<stats::SizedTime> times;
  for (const auto& [items, run] : runs) {
    for (const double seconds : metric_of(*run, "time")->samples) times.push_back({items, seconds});
  }
  const auto cost = stats::fixed_cost(times);
  if (!cost) return std::nullopt;
  SizeFit fit{.parameter = parameter,
              .fixed_s = cost->fixed_s,
              .fixed_interval = cost->fixed_interval,
              .per_item_s = cost->per_item_s,
              .per_item_interval = cost->per_item_interval,
              .straight = cost->worst_misfit <= kStraight};
  for (const auto& [items, run] : runs) {
    const double share = cost->fixed_share(items);
    fit.sizes.push_back({.items = items,
                         .seconds = metric_of(*run, "time")->summary.median,
                         .fixed_share = share,
                         .too_small = fit.straight && share > kTooSmall,
                         .run = run->index});
  }
  return fit;
}

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

std::vector<StagedRun> stages_of(const Session& session) {
  std::vector<StagedRun> found;
  for (const Run& run : session.runs) {
    const Metric* whole = metric_of(run, "time");
    if (!shows_speed(run) || whole == nullptr) continue;
    StagedRun staged{.run = run.index, .all = stage_of(run, *whole, ""), .stages = {}};
    staged.all.share = 1;
    staged.all.gain_doubled = 2;
    staged.outside = 1;
    for (const Metric& metric : run.metrics) {
      if (!metric.id.starts_with(kStagePrefix) || metric.summary.n == 0) continue;
      staged.stages.push_back(stage_of(run, metric, metric.id.substr(kStagePrefix.size())));
      Stage& stage = staged.stages.back();
      if (stage.items == 0) stage.items = staged.all.items;  // what goes through the whole goes through each of them
      stage.share = whole->summary.median > 0 ? stage.seconds / whole->summary.median : 0;
      stage.gain_doubled = 1 / (1 - std::min(stage.share, 1.0) / 2);
      staged.outside -= stage.share;
    }
    if (staged.stages.empty()) continue;
    staged.outside = std::max(0.0, staged.outside);
    found.push_back(std::move(staged));
  }
  return found;
}

bool misses_limit(const Session& session) {
  const auto runs = stages_of(session);
  return std::any_of(runs.begin(), runs.end(), [](const StagedRun& run) {
    const auto missed = [](const Stage& stage) { return stage.limit == LimitState::missed; };
    return missed(run.all) || std::any_of(run.stages.begin(), run.stages.end(), missed);
  });
}

std::vector<SizeFit> size_fits_of(const Session& session) {
  std::map<std::pair<std::string, std::string>, std::map<double, const Run*>> series;
  for (const Run& run : session.runs) {
    const Metric* time = metric_of(run, "time");
    if (!is_command(run) || !shows_speed(run) || time == nullptr || time->unit != "s") continue;
    for (auto& [parameter, rest, value] : sized(run)) series[{parameter, rest}][value] = &run;
  }
  std::vector<SizeFit> fits;
  for (const auto& [key, runs] : series) {
    if (auto fit = fit_of(key.first, runs)) fits.push_back(std::move(*fit));
  }
  return fits;
}

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
