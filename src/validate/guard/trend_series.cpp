#include "validate/guard/trend_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "validate/guard/series.h"
#include "validate/guard/trend.h"

namespace warpmark::validate {
namespace {

constexpr std::int64_t kMostTrendPoints = 200'000;
constexpr const char* kUsualBranch = "main";

class TrendMaker {
 public:
  TrendMaker(store::Store& store, const TrendOptions& options) : store_(store), options_(options) {}

  Result<Trend> make() {
    trend_.threshold = options_.threshold;
    trend_.since = options_.since.text;
    trend_.until = options_.until.text;
    WM_ASSIGN(auto points, points_of_branch());
    const std::size_t stored = points.size();
    sort_by_commits(points, options_.order);
    WM_TRY(tell_left_out(points));
    std::erase_if(points, [&](const auto& point) { return is_before(point) || is_after(point); });
    if (points.empty() && stored > 0) {
      return usage_error(fmt::format("none of {} results lies between {} and {}", stored,
                                     options_.since.text.empty() ? "the first" : options_.since.text,
                                     options_.until.text.empty() ? "the newest" : options_.until.text),
                         "dates are those of the measurement (UTC), revisions those of the commits measured");
    }
    WM_TRY(add_all(points));
    if (trend_.series.empty()) return nothing(points);
    return std::move(trend_);
  }

  Result<std::vector<TrendSeries>> make_from(const std::vector<store::RunPoint>& points) {
    WM_TRY(add_all(points));
    return std::move(trend_.series);
  }

 private:
  [[nodiscard]] bool is_before(const store::RunPoint& point) const {
    const auto& bound = options_.since;
    if (!bound.date.empty()) return point.session_started.substr(0, bound.date.size()) < bound.date;
    if (bound.commit.empty()) return false;
    return point.commit.empty() || (bound.ancestors.contains(point.commit) && point.commit != bound.commit);
  }
  [[nodiscard]] bool is_after(const store::RunPoint& point) const {
    const auto& bound = options_.until;
    if (!bound.date.empty()) return point.session_started.substr(0, bound.date.size()) > bound.date;
    return !bound.commit.empty() && !bound.ancestors.contains(point.commit);
  }

  [[nodiscard]] store::RunQuery query(const std::string& branch) const {
    store::RunQuery query{.metric = "*", .fingerprint = options_.fingerprint, .commit = {}, .branch = branch};
    if (!options_.dirty) query.dirty = false;
    query.limit = kMostTrendPoints;
    return query;
  }

  Result<std::vector<store::RunPoint>> points_of_branch() {
    trend_.branch = options_.branch.value_or(kUsualBranch);
    WM_ASSIGN(auto points, store_.find(query(trend_.branch)));
    if (!points.empty() || options_.branch) return points;
    trend_.branch.clear();
    return store_.find(query(""));
  }

  /// What a person would look for and not find.
  Status tell_left_out(const std::vector<store::RunPoint>& points) {
    if (!options_.dirty) {
      auto changed = query(trend_.branch);
      changed.dirty = true;
      changed.metric.clear();  // a point for each run is enough to count sessions
      WM_ASSIGN(const auto dirty, store_.find(changed));
      const auto count = sessions_in(dirty, [](const auto&) { return true; });
      if (count > 0) {
        trend_.left_out.push_back(
            fmt::format("{} with uncommitted changes (--dirty shows them)", counted(count, "session")));
      }
    }
    const bool outside = options_.order.age.empty();
    if (options_.order.complete && !outside) return {};
    const auto unknown = sessions_in(
        points, [&](const auto& point) { return !point.commit.empty() && !options_.order.contains(point.commit); });
    if (unknown > 0) {
      trend_.left_out.push_back(fmt::format("the place of {}, whose commits {}: ordered by time ({})",
                                            counted(unknown, "session"),
                                            outside ? "no repository here has" : "this shallow clone does not have",
                                            outside ? "run it in a clone of theirs" : "git fetch --unshallow"));
    }
    return {};
  }

  static std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  }

  template <typename Which>
  static std::size_t sessions_in(const std::vector<store::RunPoint>& points, Which which) {
    std::set<std::string> sessions;
    for (const auto& point : points) {
      if (which(point)) sessions.insert(point.session);
    }
    return sessions.size();
  }

  Status add_all(const std::vector<store::RunPoint>& points) {
    for (auto& series : series_of(points)) {
      if (!matches_series(options_.metrics, series.label, series.metric)) continue;
      for (const auto& part : by_machines_in_turns(std::move(series))) {
        WM_TRY(add(part));
      }
    }
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

  [[nodiscard]] Error nothing(const std::vector<store::RunPoint>& points) const {
    if (points.empty()) {
      return usage_error(options_.branch ? "there are no results of branch " + *options_.branch
                                         : "there are no results of committed code yet",
                         "measure with: warpmark run; --dirty shows results with uncommitted changes too");
    }
    std::vector<std::string> names;
    for (const auto& series : series_of(points)) {
      if (names.size() < 8) names.push_back(series.label + " " + series.metric);
    }
    return usage_error("no metric matches " + options_.metrics, "there are: " + join(names, ", "));
  }

  store::Store& store_;
  const TrendOptions& options_;
  Trend trend_;
  std::map<std::pair<std::string, std::string>, std::string> differences_;
};

}  // namespace

Result<std::vector<TrendSeries>> trends_of_points(store::Store& store, const std::vector<store::RunPoint>& points,
                                                  const TrendOptions& options) {
  return TrendMaker(store, options).make_from(points);
}

Result<Trend> trend_of(store::Store& store, const TrendOptions& options) { return TrendMaker(store, options).make(); }

}  // namespace warpmark::validate
