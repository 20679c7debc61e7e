#include "report/results/stages.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/units.h"
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

}  // namespace warpmark::report
