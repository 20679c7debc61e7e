#include "validate/guard/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "stats/change_points.h"
#include "stats/distributions.h"
#include "stats/drift.h"
#include "stats/tests/compare.h"
#include "validate/guard/regression.h"

namespace warpmark::validate {
namespace {

constexpr double kBandConfidence = 0.95;

void add_changes(TrendSeries& series, std::int64_t begin, std::int64_t end, double threshold) {
  std::vector<double> values;
  for (std::int64_t i = begin; i < end; ++i) {
    const double value = series.points[static_cast<std::size_t>(i)].point.value;
    if (!std::isfinite(value)) return;
    values.push_back(value);
  }
  for (const auto& found : stats::change_points(values, {.min_magnitude = threshold})) {
    TrendChange change{
        .index = begin + found.index, .before = found.mean_before, .after = found.mean_after, .p = found.p};
    if (series.better != Better::neither) {
      change.worse = (found.mean_after > found.mean_before) == (series.better == Better::lower);
    }
    series.changes.push_back(change);
  }
}

/// The prediction interval of a check for a session that lies at the level.
void add_band(TrendSeries& series, std::int64_t begin) {
  std::vector<double> values;
  std::vector<std::int64_t> breaks;
  for (std::size_t i = static_cast<std::size_t>(begin); i < series.points.size(); ++i) {
    values.push_back(series.points[i].point.value);
  }
  for (const auto& change : series.changes) {
    if (change.index >= begin) breaks.push_back(change.index - begin);
  }
  series.band_from = begin + (breaks.empty() ? 0 : breaks.back());
  const auto step = step_from(values, breaks, std::vector<double>{1});
  if (!step.undefined.empty()) return;
  const double level = std::exp(step.level);
  const double half = stats::t_quantile_of_tail((1 - kBandConfidence) / 2, step.degrees) * step.error;
  series.level = level;
  series.band = Interval{level * stats::ratio_of_log(-half), level * stats::ratio_of_log(half), kBandConfidence};
}

/// Over all of the newest machine where a line tells it better than its steps, else since the newest step.
void add_drift(TrendSeries& series, std::int64_t begin, double threshold) {
  std::vector<double> logs;
  for (std::size_t i = static_cast<std::size_t>(begin); i < series.points.size(); ++i) {
    const double value = series.points[i].point.value;
    if (!(value > 0) || !std::isfinite(value)) return;
    logs.push_back(std::log(value));
  }
  std::vector<std::int64_t> breaks;
  for (const auto& change : series.changes) {
    if (change.index > begin) breaks.push_back(change.index - begin);
  }
  std::size_t first = 0;
  if (!breaks.empty() && !stats::creeps_rather_than_steps(logs, breaks))
    first = static_cast<std::size_t>(breaks.back());
  const auto found = stats::drift_of(std::span(logs).subspan(first), kBandConfidence);
  if (!found) return;
  const auto steps = static_cast<double>(found->n - 1);
  const auto ratio = [](double log) { return stats::change_of_log(log); };
  TrendDrift drift{
      .from = static_cast<std::int64_t>(series.points.size()) - found->n,
      .per_session = ratio(found->slope),
      .interval = {ratio(found->interval.low), ratio(found->interval.high), kBandConfidence},
      .change = ratio(found->slope * steps),
      .change_interval = {ratio(found->interval.low * steps), ratio(found->interval.high * steps), kBandConfidence},
      .p = found->p};
  if (series.better != Better::neither) drift.worse = (drift.change > 0) == (series.better == Better::lower);
  const bool certain = found->interval.low > 0 || found->interval.high < 0;
  drift.marked = certain && std::fabs(drift.change) >= threshold;
  series.drift = drift;
}

constexpr std::size_t kMostTrendPoints = 5'000'000;
constexpr const char* kUsualBranch = "main";

class TrendMaker {
 public:
  TrendMaker(store::Store& store, const TrendOptions& options) : store_(store), options_(options) {}

  Result<Trend> make() {
    trend_.threshold = options_.threshold;
    trend_.since = options_.since.text;
    trend_.until = options_.until.text;
    WM_ASSIGN(const auto kept, KeptPoints::read(store_, kMostTrendPoints));
    const auto all = sessions_in(kept);
    choose_sessions(all);
    report_left_out(all);
    const std::size_t stored = sessions_.size();
    std::erase_if(sessions_, [&](const auto* session) { return is_before(*session) || is_after(*session); });
    if (sessions_.empty() && stored > 0) {
      return usage_error(fmt::format("none of {} sessions lies between {} and {}", stored,
                                     options_.since.text.empty() ? "the first" : options_.since.text,
                                     options_.until.text.empty() ? "the newest" : options_.until.text),
                         "dates are those of the measurement (UTC), revisions those of the commits measured");
    }
    WM_TRY(add_all(kept));
    if (trend_.series.empty()) return nothing(kept);
    return std::move(trend_);
  }

  Result<std::vector<TrendSeries>> make_from(const std::vector<store::RunPoint>& points) {
    for (auto& series : series_of(points)) {
      if (matches_series(options_.metrics, series.label, series.metric)) WM_TRY(add_parts(std::move(series)));
    }
    return std::move(trend_.series);
  }

 private:
  using Sessions = std::unordered_set<const store::RunPoint*>;  ///< by a point of each, for what all its points share

  [[nodiscard]] bool is_before(const store::RunPoint& session) const {
    const auto& bound = options_.since;
    if (!bound.date.empty()) return session.session_started.substr(0, bound.date.size()) < bound.date;
    if (bound.commit.empty()) return false;
    return session.commit.empty() || (bound.ancestors.contains(session.commit) && session.commit != bound.commit);
  }
  [[nodiscard]] bool is_after(const store::RunPoint& session) const {
    const auto& bound = options_.until;
    if (!bound.date.empty()) return session.session_started.substr(0, bound.date.size()) > bound.date;
    return !bound.commit.empty() && !bound.ancestors.contains(session.commit);
  }

  [[nodiscard]] static Sessions sessions_in(const KeptPoints& kept) {
    Sessions sessions;
    for (const auto& [key, series] : kept.series()) {
      for (const auto& point : series.points) sessions.insert(point.session);
    }
    return sessions;
  }

  [[nodiscard]] bool is_of_branch(const store::RunPoint& session) const {
    const bool here = options_.fingerprint.empty() || session.fingerprint == options_.fingerprint;
    return here && (trend_.branch.empty() || session.branch == trend_.branch);
  }

  /// Those of the branch; of all branches where nobody asked for one and main has none.
  void choose_sessions(const Sessions& all) {
    const auto choose = [&](const std::string& branch) {
      trend_.branch = branch;
      sessions_ = all;
      std::erase_if(sessions_, [&](const auto* session) {
        return !is_of_branch(*session) || (session->dirty && !options_.dirty);
      });
    };
    choose(options_.branch.value_or(kUsualBranch));
    if (sessions_.empty() && !options_.branch) choose("");
  }

  /// What a person would look for and not find.
  void report_left_out(const Sessions& all) {
    if (!options_.dirty) {
      const auto dirty =
          std::ranges::count_if(all, [&](const auto* session) { return session->dirty && is_of_branch(*session); });
      if (dirty > 0) {
        trend_.left_out.push_back(
            fmt::format("{} with uncommitted changes (--dirty shows them)", counted(dirty, "session")));
      }
    }
    const bool outside = options_.order.age.empty();
    if (options_.order.complete && !outside) return;
    const auto unknown = std::ranges::count_if(sessions_, [&](const auto* session) {
      return !session->commit.empty() && !options_.order.contains(session->commit);
    });
    if (unknown > 0) {
      trend_.left_out.push_back(fmt::format(
          "the commit order of {}: {}, so they are sorted by time ({})", counted(unknown, "session"),
          outside ? "no repository here has their commits" : "this shallow clone does not have their commits",
          outside ? "run this in a clone of their repository" : "git fetch --unshallow"));
    }
  }

  static std::string counted(std::ptrdiff_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  }

  /// One series at a time: a point of its own takes ten times the memory of one that is kept.
  Status add_all(const KeptPoints& kept) {
    for (const auto& [key, one] : kept.series()) {
      if (!matches_series(options_.metrics, key.first, key.second)) continue;  // before any point is made
      std::vector<store::RunPoint> points;
      for (auto point = one.points.rbegin(); point != one.points.rend(); ++point) {
        if (sessions_.contains(point->session)) points.push_back(point_of(one.facts, *point));
      }
      if (points.empty()) continue;
      sort_by_commits(points, options_.order);
      std::ranges::reverse(points);
      Series series{key.first, key.second, one.facts.unit, one.facts.better, std::move(points)};
      WM_TRY(add_parts(std::move(series)));
    }
    return {};
  }

  Status add_parts(Series series) {
    for (const auto& part : by_machines_in_turns(std::move(series))) WM_TRY(add(part));
    return {};
  }

  Status add(const Series& series) {
    TrendSeries added{.label = series.label, .metric = series.metric, .unit = series.unit, .better = series.better};
    const auto surplus = static_cast<std::int64_t>(series.points.size()) - options_.last;
    for (std::size_t i = surplus > 0 ? static_cast<std::size_t>(surplus) : 0; i < series.points.size(); ++i) {
      const auto& point = series.points[i];
      if (!added.points.empty() && added.points.back().machine != point.fingerprint) {
        WM_ASSIGN(auto what, differences(added.points.back(), point));
        added.machines.push_back({.index = static_cast<std::int64_t>(added.points.size()), .what = std::move(what)});
      }
      added.points.push_back({.point = to_history_point(point),
                              .branch = point.branch,
                              .machine = point.fingerprint,
                              .interval = point.interval});
    }
    mark_changes(added, options_.threshold);
    trend_.series.push_back(std::move(added));
    return {};
  }

  Result<std::string> differences(const TrendPoint& before, const store::RunPoint& now) {
    const auto key = std::pair(before.machine, now.fingerprint);
    if (const auto known = differences_.find(key); known != differences_.end()) return known->second;
    WM_ASSIGN(const auto old, store_.load(before.point.session));
    WM_ASSIGN(const auto fresh, store_.load(now.session));
    std::string text = machine_differences(fresh.session.machine, old.session.machine);
    if (text.empty()) text = "fingerprint " + now.fingerprint + " instead of " + before.machine;
    return differences_.emplace(key, std::move(text)).first->second;
  }

  [[nodiscard]] Error nothing(const KeptPoints& kept) const {
    if (sessions_.empty()) {
      return usage_error(options_.branch ? "there are no results of branch " + *options_.branch
                                         : "there are no results of committed code yet",
                         "measure with: warpmark run; --dirty shows results with uncommitted changes too");
    }
    std::vector<std::string> names;
    for (const auto& [key, series] : kept.series()) {
      const bool shown =
          std::ranges::any_of(series.points, [this](const auto& point) { return sessions_.contains(point.session); });
      if (shown && names.size() < 8) names.push_back(key.first + " " + key.second);
    }
    return usage_error("no metric matches " + options_.metrics, "there are: " + join(names, ", "));
  }

  store::Store& store_;
  const TrendOptions& options_;
  Trend trend_;
  Sessions sessions_;  ///< what the trend is of
  std::map<std::pair<std::string, std::string>, std::string> differences_;
};

}  // namespace

void find_changes(TrendSeries& series, double threshold) {
  std::int64_t begin = 0;
  for (const auto& machine : series.machines) {
    add_changes(series, begin, machine.index, threshold);
    begin = machine.index;
  }
  add_changes(series, begin, static_cast<std::int64_t>(series.points.size()), threshold);
}

void mark_changes(TrendSeries& series, double threshold) {
  find_changes(series, threshold);
  const std::int64_t begin = series.machines.empty() ? 0 : series.machines.back().index;
  if (static_cast<std::int64_t>(series.points.size()) <= begin) return;
  add_band(series, begin);
  add_drift(series, begin, threshold);
}

Result<std::vector<TrendSeries>> trends_of_points(store::Store& store, const std::vector<store::RunPoint>& points,
                                                  const TrendOptions& options) {
  return TrendMaker(store, options).make_from(points);
}

Result<Trend> trend_of(store::Store& store, const TrendOptions& options) { return TrendMaker(store, options).make(); }

}  // namespace warpmark::validate
