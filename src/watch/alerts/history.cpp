#include "watch/alerts/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/quantity.h"
#include "base/text.h"
#include "base/units.h"
#include "base/untrusted/safe_text.h"
#include "validate/guard/check_history.h"
#include "validate/guard/trend.h"
#include "watch/alerts/kept_points.h"
#include "watch/alerts/live.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {

/// Parts of StoredHistory, which has linkage.
struct WatchedSeries {
  Labels labels;
  store::RunPoint facts;          ///< what all points share
  std::vector<KeptPoint> points;  ///< oldest first
  std::vector<double> times;      ///< of the sessions, as long as points
  std::size_t judged = 0;         ///< how many points `change` was found from
  std::optional<TrendSeries> trend;
};

struct CheckedMetric {
  Labels labels;
  std::string verdict;
  std::optional<double> change;  ///< ratio less 1
  std::string what;
};

struct CheckedSession {
  double started_s = 0;
  std::vector<CheckedMetric> metrics;
};

namespace {

constexpr const char* kMainBranch = "main";
constexpr std::size_t kTrendLength = 200;  // newest sessions of a series that its level is judged by
constexpr double kReadAnyway_s = 600;      // results may have been stored that are not the newest
constexpr std::int64_t kSignSessions = 20;

double time_of(const std::string& utc) { return unix_seconds(utc).value_or(0); }

Labels series_labels(const std::string& label, const std::string& metric) {
  return {{"benchmark", valid_utf8(label)}, {"metric", valid_utf8(metric)}};
}

/// Points of a rule's branch.
class OfRule {
 public:
  OfRule(const AlertRule& rule, const KeptPoints& kept) : rule_(rule), branch_(rule.branch.value_or(kMainBranch)) {
    const auto any = [&](const auto& series) {
      return std::ranges::any_of(series.second.points, [&](const auto& point) { return fits(point); });
    };
    if (!rule.branch && std::ranges::none_of(kept.series(), any)) branch_ = "";
  }

  [[nodiscard]] bool fits(const KeptPoint& point) const {
    return (rule_.dirty || !point.session->dirty) && (branch_.empty() || point.session->branch == branch_);
  }

 private:
  const AlertRule& rule_;
  std::string branch_;
};

/// By label and metric. One series at a time is there in full, to be split by its machines.
std::vector<WatchedSeries> watched(const AlertRule& rule, const KeptPoints& kept) {
  const OfRule of_rule(rule, kept);
  std::vector<WatchedSeries> found;
  for (const auto& [name, series] : kept.series()) {
    const auto& [label, metric] = name;
    if (!validate::matches_series(rule.select, label, metric)) continue;
    validate::Series full{label, metric, series.facts.unit, series.facts.better, {}};
    for (const auto& point : series.points) {
      if (of_rule.fits(point)) full.points.push_back(whole(series.facts, point));
    }
    if (full.points.empty()) continue;
    std::ranges::stable_sort(full.points, {}, &store::RunPoint::session_started);
    for (auto& part : validate::by_machines_in_turns(std::move(full))) {
      WatchedSeries one{.labels = series_labels(part.label, part.metric), .facts = series.facts};
      for (const auto& point : part.points) {
        one.points.push_back(kept.kept(point));
        one.times.push_back(time_of(point.session_started));
      }
      found.push_back(std::move(one));
    }
  }
  return found;
}

std::size_t visible(const WatchedSeries& series, double at_s) {
  return static_cast<std::size_t>(std::upper_bound(series.times.begin(), series.times.end(), at_s) -
                                  series.times.begin());
}

/// The trend of the first `count` points. Found once for each count: finding levels is the expensive part.
const TrendSeries& trend_of_first(WatchedSeries& series, std::size_t count, double threshold) {
  if (series.trend && series.judged == count) return *series.trend;
  TrendSeries trend{.label = {}, .metric = {}, .unit = series.facts.unit, .better = series.facts.better};
  for (std::size_t i = count > kTrendLength ? count - kTrendLength : 0; i < count; ++i) {
    const auto point = whole(series.facts, series.points[i]);
    if (!trend.points.empty() && trend.points.back().machine != point.fingerprint) {
      trend.machines.push_back({.index = static_cast<std::int64_t>(trend.points.size()), .what = "another machine"});
    }
    trend.points.push_back({.point = validate::to_history_point(point),
                            .branch = point.branch,
                            .machine = point.fingerprint,
                            .interval = point.interval});
  }
  validate::find_changes(trend, threshold);
  series.trend = std::move(trend);
  series.judged = count;
  return *series.trend;
}

bool is_wanted(const AlertRule& rule, std::optional<bool> worse) {
  if (rule.change == ChangeKind::any) return true;
  return worse && *worse == (rule.change == ChangeKind::worse);
}

std::string change_text(const TrendChange& change, double level, const HistoryPoint& at, const std::string& unit) {
  const auto shown = [&](double value) {
    return unit == "s"                   ? format_seconds(value)
           : unit.empty() || unit == "1" ? fmt::format("{:.6g}", value)
                                         : format_si(value, unit);
  };
  return fmt::format("{} instead of {} ({:+.1f} %) since {}{}{}", shown(level), shown(change.before),
                     100 * (level / change.before - 1), at.started, at.commit.empty() ? "" : ", commit ",
                     at.commit.substr(0, 10));
}

/// The wanted change that still holds: neither forgotten nor undone by a later one.
std::optional<Active> change_of(const AlertRule& rule, WatchedSeries& series, std::size_t count, double at_s) {
  const TrendSeries& trend = trend_of_first(series, count, rule.threshold);
  if (trend.changes.empty()) return std::nullopt;
  const std::int64_t machine_from = trend.machines.empty() ? 0 : trend.machines.back().index;
  const double level = trend.changes.back().after;
  for (const auto& change : trend.changes) {
    const auto& point = trend.points[static_cast<std::size_t>(change.index)].point;
    if (change.index < machine_from || at_s - time_of(point.started) > rule.forget_s) continue;
    if (!is_wanted(rule, change.worse) || change.before == 0) continue;
    const bool same_side = (level > change.before) == (change.after > change.before);
    const double ratio = level / change.before;
    if (!same_side || std::max(ratio, 1 / ratio) - 1 < rule.threshold) continue;
    return Active{series.labels, ratio - 1, "ratio", change_text(change, level, point, series.facts.unit)};
  }
  return std::nullopt;
}

std::optional<Active> active_of(const AlertRule& rule, WatchedSeries& series, double at_s, std::string& problem) {
  const std::size_t count = visible(series, at_s);
  if (count == 0) return std::nullopt;
  const auto& newest = series.points[count - 1];
  const std::string& newest_started = newest.session->session_started;
  if (rule.condition == RuleCondition::change) return change_of(rule, series, count, at_s);
  if (rule.condition == RuleCondition::no_data) {
    const double silent_s = at_s - series.times[count - 1];
    if (silent_s < rule.no_data_s) return std::nullopt;
    return Active{series.labels, silent_s, "s",
                  fmt::format("no result for {:.1f} h, the newest is of {}", silent_s / 3600, newest_started)};
  }
  auto limit = parse_number(rule.limit);
  if (!limit.ok()) limit = parse_quantity(rule.limit, series.facts.unit);
  if (!limit.ok()) {
    problem = limit.error().what + ", which is not of the unit of " + series.labels[0].second + " (" +
              series.facts.unit + ")";
    return std::nullopt;
  }
  const bool active = rule.condition == RuleCondition::above ? newest.median > *limit : newest.median < *limit;
  if (!active || !std::isfinite(newest.median)) return std::nullopt;
  return Active{series.labels, newest.median, series.facts.unit,
                compared_text(newest.median, rule.condition, rule.limit, series.facts.unit) + ", of " + newest_started};
}

CheckedMetric checked_of(const MetricCheck& metric, const Check& check, const std::string& host) {
  CheckedMetric found{.labels = series_labels(metric.label, metric.metric), .verdict = name_of(metric.verdict)};
  found.labels.emplace_back("host", valid_utf8(host));
  if (metric.ratio) found.change = *metric.ratio - 1;
  found.what = fmt::format("{} than {}", found.verdict, check.branch);
  if (metric.verdict == Verdict::inconclusive || metric.verdict == Verdict::unreliable) {
    found.what = found.verdict + (metric.reason.empty() ? "" : ": " + metric.reason);
  }
  if (found.change) found.what += fmt::format(" ({:+.1f} %)", 100 * *found.change);
  found.what += fmt::format(", session {} of {}", check.sessions.front(), check.started);
  return found;
}

}  // namespace

struct StoredHistory::Parts {
  std::vector<AlertRule> rules;
  std::string sign;  ///< of the newest sessions
  KeptPoints kept;
  double read_s = -kReadAnyway_s;
  std::map<std::string, std::vector<WatchedSeries>> series;              ///< by rule
  std::map<std::string, std::map<std::string, CheckedSession>> checked;  ///< by rule, then session

  double newest_s = 0;

  [[nodiscard]] bool has(RuleSource source) const {
    return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.source == source; });
  }

  Status read_series(store::Store& store) {
    WM_ASSIGN(kept, KeptPoints::read(store, kMostWatchedPoints));
    for (const auto& rule : rules) {
      if (rule.source != RuleSource::history) continue;
      auto fresh = watched(rule, kept);
      keep_trends(series[rule.name], fresh);
      series[rule.name] = std::move(fresh);
    }
    return {};
  }

  /// Of series that did not get another point.
  static void keep_trends(std::vector<WatchedSeries>& before, std::vector<WatchedSeries>& now) {
    std::map<std::string, WatchedSeries*> known;
    for (auto& one : before) known[key_of("", one.labels)] = &one;
    for (auto& one : now) {
      const auto at = known.find(key_of("", one.labels));
      if (at == known.end() || !at->second->trend || at->second->judged != one.points.size()) continue;
      if (at->second->times != one.times) continue;
      one.trend = std::move(at->second->trend);
      one.judged = at->second->judged;
    }
  }

  Status check_sessions(store::Store& store, const std::vector<store::SessionSummary>& sessions,
                        const HistoryWanted& wanted) {
    for (const auto& rule : rules) {
      if (rule.source != RuleSource::check) continue;
      auto& known = checked[rule.name];
      std::map<std::string, CheckedSession> now;
      for (const auto& session : sessions) {
        if (wanted.interrupted != nullptr && wanted.interrupted->load()) return environment_error("interrupted");
        if (!session.complete || time_of(session.started) < wanted.since_s) continue;
        const auto at = known.find(session.id);
        if (at != known.end()) {
          now.insert(known.extract(at));
          continue;
        }
        WM_ASSIGN(now[session.id], check(store, rule, session));
      }
      known = std::move(now);
    }
    return {};
  }

  /// A session without a baseline has no verdict; that is no fault.
  static Result<CheckedSession> check(store::Store& store, const AlertRule& rule,
                                      const store::SessionSummary& summary) {
    CheckedSession found{.started_s = time_of(summary.started), .metrics = {}};
    WM_ASSIGN(const auto stored, store.load(summary.id));
    const auto check = validate::check_against_history(
        store, {stored.session},
        {.branch = rule.baseline, .metrics = rule.select == "*" ? "" : rule.select, .threshold = rule.threshold});
    if (!check.ok()) return found;
    for (const auto& metric : check->metrics) found.metrics.push_back(checked_of(metric, *check, summary.hostname));
    return found;
  }

  /// The newest verdict of each metric of each host, as of a moment.
  Evaluation verdicts(const AlertRule& rule, double at_s) {
    Evaluation found{.rule = rule.name};
    std::map<std::string, std::pair<double, const CheckedMetric*>> newest;
    for (const auto& [id, session] : checked[rule.name]) {
      if (session.started_s > at_s || at_s - session.started_s > rule.forget_s) continue;
      for (const auto& metric : session.metrics) {
        auto& known = newest[key_of("", metric.labels)];
        if (known.second == nullptr || session.started_s >= known.first) known = {session.started_s, &metric};
      }
    }
    for (const auto& [key, entry] : newest) {
      const auto& metric = *entry.second;
      if (std::find(rule.verdicts.begin(), rule.verdicts.end(), metric.verdict) == rule.verdicts.end()) continue;
      if (found.active.size() < kMostAlertsOfRule) {
        found.active.push_back({metric.labels, metric.change, metric.change ? "ratio" : "", metric.what});
      } else {
        ++found.left_out;
      }
    }
    return found;
  }
};

StoredHistory::StoredHistory(std::vector<AlertRule> rules) : parts_(std::make_unique<Parts>()) {
  std::erase_if(rules, [](const auto& rule) { return rule.source == RuleSource::live; });
  parts_->rules = std::move(rules);
}
StoredHistory::~StoredHistory() = default;
StoredHistory::StoredHistory(StoredHistory&&) noexcept = default;
StoredHistory& StoredHistory::operator=(StoredHistory&&) noexcept = default;

Status StoredHistory::refresh(store::Store& store, const HistoryWanted& wanted, double watch_s) {
  const std::int64_t limit = wanted.since_s > 0 ? 100'000 : std::max(kMostCheckedSessions, kSignSessions);
  WM_ASSIGN(const auto sessions, store.sessions({.limit = limit}));
  std::string sign;
  for (const auto& session : sessions) parts_->newest_s = std::max(parts_->newest_s, time_of(session.started));
  for (std::size_t i = 0; i < sessions.size() && i < static_cast<std::size_t>(kSignSessions); ++i) {
    sign += sessions[i].id + (sessions[i].complete ? "+" : "-");
    for (const auto& [outcome, count] : sessions[i].outcomes) sign += std::to_string(count) + ",";
  }
  if (sign == parts_->sign && watch_s - parts_->read_s < kReadAnyway_s) return {};
  if (parts_->has(RuleSource::history)) WM_TRY(parts_->read_series(store));
  if (parts_->has(RuleSource::check)) WM_TRY(parts_->check_sessions(store, sessions, wanted));
  parts_->sign = std::move(sign);
  parts_->read_s = watch_s;
  return {};
}

double StoredHistory::newest_s() const { return parts_->newest_s; }

Evaluation StoredHistory::evaluate(const AlertRule& rule, double at_s) {
  if (rule.source == RuleSource::check) return parts_->verdicts(rule, at_s);
  Evaluation found{.rule = rule.name};
  for (auto& series : parts_->series[rule.name]) {
    auto active = active_of(rule, series, at_s, found.problem);
    if (!active) continue;
    if (found.active.size() < kMostAlertsOfRule) {
      found.active.push_back(std::move(*active));
    } else {
      ++found.left_out;
    }
  }
  return found;
}

std::vector<double> StoredHistory::moments(const AlertRule& rule, double from_s, double to_s) {
  std::set<double> found;
  const auto add = [&](double at_s) {
    if (at_s >= from_s && at_s <= to_s) found.insert(at_s);
  };
  if (rule.source == RuleSource::check) {
    for (const auto& [id, session] : parts_->checked[rule.name]) {
      add(session.started_s);
      add(session.started_s + rule.forget_s + 1);
    }
  }
  for (const auto& series : parts_->series[rule.name]) {
    for (const double at_s : series.times) {
      add(at_s);
      if (rule.condition == RuleCondition::no_data) add(at_s + rule.no_data_s);
      if (rule.condition == RuleCondition::change) add(at_s + rule.forget_s + 1);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace warpmark::watch
