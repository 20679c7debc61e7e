#include "watch/alerts/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include "base/text.h"
#include "base/units.h"
#include "base/untrusted/input.h"
#include "validate/guard/trend.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {

/// Parts of StoredHistory, which has linkage.
struct WatchedSeries {
  Labels labels;
  store::RunPoint facts;                   ///< what all points share
  std::vector<store::SeriesPoint> points;  ///< oldest first
  std::vector<double> times;               ///< of the sessions, as long as points
  std::vector<double> medians;             ///< the same
  std::size_t even = 0;                    ///< how many points were found without any change
  std::size_t judged = 0;                  ///< how many points `change` was found from
  std::optional<TrendSeries> trend;
};

namespace {

constexpr const char* kMainBranch = "main";
constexpr std::size_t kTrendLength = 200;  // newest sessions of a series that its level is judged by
constexpr double kReadAnyway_s = 600;      // results may have been stored that are not the newest
constexpr std::int64_t kSignSessions = 20;

double time_of(const std::string& utc) { return unix_seconds(utc).value_or(0); }

/// Points of a rule's branch.
class OfRule {
 public:
  OfRule(const AlertRule& rule, const validate::KeptPoints& kept)
      : rule_(rule), branch_(rule.branch.value_or(kMainBranch)) {
    const auto any = [&](const auto& series) {
      return std::ranges::any_of(series.second.points, [&](const auto& point) { return fits(point); });
    };
    if (!rule.branch && std::ranges::none_of(kept.series(), any)) branch_ = "";
  }

  [[nodiscard]] bool fits(const store::SeriesPoint& point) const {
    return (rule_.dirty || !point.session->dirty) && (branch_.empty() || point.session->branch == branch_);
  }

 private:
  const AlertRule& rule_;
  std::string branch_;
};

/// By label and metric, and by machine where these take turns.
std::vector<WatchedSeries> watched(const AlertRule& rule, const validate::KeptPoints& kept) {
  const OfRule of_rule(rule, kept);
  std::vector<WatchedSeries> found;
  std::unordered_map<const store::RunPoint*, double> times;  // many series are of the same sessions
  for (const auto& [name, series] : kept.series()) {
    const auto& [label, metric] = name;
    if (!validate::matches_series(rule.select, label, metric)) continue;
    std::vector<store::SeriesPoint> points;
    std::ranges::copy_if(series.points, std::back_inserter(points),
                         [&](const auto& point) { return of_rule.fits(point); });
    if (points.empty()) continue;
    const auto started = [](const auto& point) { return std::string_view(point.session->session_started); };
    if (!std::ranges::is_sorted(points, {}, started)) std::ranges::stable_sort(points, {}, started);
    std::vector<const store::RunPoint*> sessions;
    for (const auto& point : points) sessions.push_back(point.session);
    const auto parts = validate::machines_in_turns(sessions);
    for (const auto& places : parts) {
      const auto& newest = *sessions[places.back()];
      WatchedSeries one{
          .labels = series_labels(parts.size() == 1 ? label : validate::label_of_machine(label, newest), metric),
          .facts = series.facts};
      for (const std::size_t place : places) {
        one.points.push_back(points[place]);
        one.medians.push_back(points[place].median);
        const auto [time, is_new] = times.try_emplace(sessions[place]);
        if (is_new) time->second = time_of(sessions[place]->session_started);
        one.times.push_back(time->second);
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

/// Whether the values that a trend of the first `count` points is made of lie closer than the threshold: there is no
/// change then, and no need to look.
bool is_even(WatchedSeries& series, std::size_t count, double threshold) {
  if (series.even == count) return true;
  const std::span values(series.medians);
  const auto newest = values.subspan(count > kTrendLength ? count - kTrendLength : 0, std::min(count, kTrendLength));
  const auto [low, high] = std::ranges::minmax(newest);
  const bool even = low > 0 && high / low - 1 < threshold;
  if (even) series.even = count;
  return even;
}

/// The trend of the first `count` points. Found once for each count: finding levels is the expensive part.
const TrendSeries& trend_of_first(WatchedSeries& series, std::size_t count, double threshold) {
  if (series.trend && series.judged == count) return *series.trend;
  TrendSeries trend{.label = {}, .metric = {}, .unit = series.facts.unit, .better = series.facts.better};
  for (std::size_t i = count > kTrendLength ? count - kTrendLength : 0; i < count; ++i) {
    const auto point = validate::point_of(series.facts, series.points[i]);
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
  if (is_even(series, count, rule.threshold)) return std::nullopt;
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

}  // namespace

struct StoredHistory::Parts {
  std::vector<AlertRule> rules;
  std::string sign;  ///< of the newest sessions
  validate::KeptPoints kept;
  double read_s = -kReadAnyway_s;
  std::map<std::string, std::vector<WatchedSeries>> series;  ///< by rule
  std::map<std::string, PastChecks> verdicts;                ///< by rule

  double newest_s = 0;

  Status read(store::Store& store, const std::vector<store::SessionSummary>& sessions, const HistoryWanted& wanted) {
    WM_ASSIGN(kept, validate::KeptPoints::read(store, kMostWatchedPoints));
    for (const auto& rule : rules) {
      if (rule.source == RuleSource::check) {
        WM_TRY(verdicts[rule.name].refresh(store, rule, kept, sessions, wanted));
        continue;
      }
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
  if (!parts_->rules.empty()) WM_TRY(parts_->read(store, sessions, wanted));
  parts_->sign = std::move(sign);
  parts_->read_s = watch_s;
  return {};
}

double StoredHistory::newest_s() const { return parts_->newest_s; }

Evaluation StoredHistory::evaluate(const AlertRule& rule, double at_s) {
  if (rule.source == RuleSource::check) return parts_->verdicts[rule.name].evaluate(rule, at_s);
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
  std::vector<double> found;
  const auto add = [&](double at_s) {
    if (at_s >= from_s && at_s <= to_s) found.push_back(at_s);
  };
  if (rule.source == RuleSource::check) {
    for (const double at_s : parts_->verdicts[rule.name].moments()) {
      add(at_s);
      add(at_s + rule.forget_s + 1);
    }
  }
  for (const auto& series : parts_->series[rule.name]) {
    for (const double at_s : series.times) {
      add(at_s);
      if (rule.condition == RuleCondition::no_data) add(at_s + rule.no_data_s);
      if (rule.condition == RuleCondition::change) add(at_s + rule.forget_s + 1);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

namespace {

constexpr double kForgetSeries_s = 7 * 86400.0;

bool labels_fit(const Labels& wanted, const Labels& found) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
    const auto at = std::find_if(found.begin(), found.end(), [&](const auto& has) { return has.first == want.first; });
    return at != found.end() && glob_match(want.second, at->second);
  });
}

bool is_of_gpus(const std::string& name) { return name.starts_with("warpmark_gpu_") || name.starts_with("DCGM_"); }

Labels named(const Family& family, const Sample& sample) {
  Labels labels = {{"metric", family.name}};
  for (const auto& [name, value] : sample.labels) labels.emplace_back(name, valid_utf8(value));
  return labels;
}

void add_active(Evaluation& found, Active active) {
  if (found.active.size() < kMostAlertsOfRule) {
    found.active.push_back(std::move(active));
  } else {
    ++found.left_out;
  }
}

void search_silence(const AlertRule& rule, const std::vector<Labels>& there, double watch_s,
                    std::map<std::string, SeenSeries>& seen, Evaluation& found) {
  for (const auto& labels : there) {
    const auto key = key_of(rule.name, labels);
    if (seen.size() < kMostAlertsOfRule || seen.contains(key)) seen[key] = {labels, watch_s};
  }
  // What was never there is missing as the rule names it.
  if (seen.empty()) seen[key_of(rule.name, {{"metric", rule.select}})] = {{{"metric", rule.select}}, watch_s};
  if (!there.empty()) seen.erase(key_of(rule.name, {{"metric", rule.select}}));
  std::erase_if(seen, [&](const auto& one) { return watch_s - one.second.last_s > kForgetSeries_s + rule.no_data_s; });
  for (const auto& [key, series] : seen) {
    const double silent_s = watch_s - series.last_s;
    if (silent_s < rule.no_data_s) continue;
    add_active(found, {series.labels, silent_s, "s", "nothing for " + format_seconds(silent_s)});
  }
}

}  // namespace

Evaluation evaluate_live(const AlertRule& rule, const std::vector<Family>& families, double watch_s,
                         std::map<std::string, SeenSeries>& seen) {
  Evaluation found{.rule = rule.name};
  const auto limit = parse_number(rule.limit);
  std::vector<Labels> there;
  for (const auto& family : families) {
    if (!glob_match(rule.select, family.name)) continue;
    for (const auto& sample : family.samples) {
      if (!labels_fit(rule.labels, sample.labels)) continue;
      if (rule.condition == RuleCondition::no_data) {
        there.push_back(named(family, sample));
        continue;
      }
      if (!limit.ok() || std::isnan(sample.value)) continue;
      const bool active = rule.condition == RuleCondition::above ? sample.value > *limit : sample.value < *limit;
      if (!active) continue;
      Active one{.labels = named(family, sample), .value = {}, .unit = {}, .what = {}};
      if (std::isfinite(sample.value)) one.value = sample.value;
      one.what = compared_text(sample.value, rule.condition, rule.limit, "");
      add_active(found, std::move(one));
    }
  }
  if (rule.condition == RuleCondition::no_data) search_silence(rule, there, watch_s, seen, found);
  const auto fits = [&](const Family& family) { return glob_match(rule.select, family.name); };
  if (std::ranges::none_of(families, fits)) {
    std::vector<std::string> names;
    for (const auto& family : families) names.push_back(family.name);
    const auto meant = nearest(rule.select, names);
    const bool no_gpu = is_of_gpus(rule.select) && std::ranges::none_of(names, is_of_gpus);
    found.problem = "this machine has no metric " + rule.select;
    found.problem += no_gpu ? ": no GPU was found" : meant.empty() ? "" : "; did you mean " + meant + "?";
  }
  return found;
}

std::string compared_text(double value, RuleCondition condition, const std::string& limit, const std::string& unit) {
  const std::string shown = unit.empty() || unit == "1" ? fmt::format("{:.6g}", value)
                            : unit == "s"               ? format_seconds(value)
                                                        : format_si(value, unit);
  return fmt::format("value {} is {} the limit {}", shown, name_of(condition), limit);
}

}  // namespace warpmark::watch
