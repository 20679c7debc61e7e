#include "validate/guard/trend_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "validate/guard/kept_points.h"
#include "validate/guard/series.h"
#include "validate/guard/trend.h"

namespace warpmark::validate {
namespace {

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

Result<std::vector<TrendSeries>> trends_of_points(store::Store& store, const std::vector<store::RunPoint>& points,
                                                  const TrendOptions& options) {
  return TrendMaker(store, options).make_from(points);
}

Result<Trend> trend_of(store::Store& store, const TrendOptions& options) { return TrendMaker(store, options).make(); }

}  // namespace warpmark::validate
