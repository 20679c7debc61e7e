#include "watch/alerts/states.h"

#include <algorithm>
#include <set>

#include "base/clock.h"

namespace warpmark::watch {
namespace {

void take_over(Alert& alert, const AlertRule& rule, const Active& found, const Instant& now) {
  alert.severity = rule.severity;
  alert.summary = rule.summary;
  alert.to = rule.to;
  alert.value = found.value;
  alert.unit = found.unit;
  alert.what = found.what;
  alert.last_active_s = now.watch_s;
  alert.holds = true;
}

Alert new_alert(const AlertRule& rule, const Active& found, const Instant& now) {
  Alert alert{.rule = rule.name, .severity = {}, .summary = {}, .labels = found.labels};
  alert.active_s = now.watch_s;
  alert.active_at = format_utc(now.wall_s);
  return alert;
}

void resolve(Alert& alert, const Instant& now) {
  alert.state = AlertState::resolved;
  alert.resolved_at = format_utc(now.wall_s);
}

}  // namespace

std::vector<Alert> AlertStates::update(const AlertRule& rule, const Evaluation& found, const Instant& now) {
  std::vector<Alert> changed;
  if (!found.known) return changed;
  std::set<std::string> active;
  for (const auto& one : found.active) {
    const std::string key = key_of(rule.name, one.labels);
    if (!active.insert(key).second) continue;
    auto known = alerts_.find(key);
    if (known != alerts_.end() && known->second.state == AlertState::resolved) {
      // It fires anew before everybody was told of its end: it is another alert, and those who were not told that it
      // had ended know it as firing.
      Alert fresh = new_alert(rule, one, now);
      for (const auto& sink : known->second.told) {
        const auto& ended = known->second.told_resolved;
        if (std::find(ended.begin(), ended.end(), sink) == ended.end()) fresh.told.push_back(sink);
      }
      known->second = std::move(fresh);
    } else if (known == alerts_.end()) {
      known = alerts_.emplace(key, new_alert(rule, one, now)).first;
    }
    Alert& alert = known->second;
    take_over(alert, rule, one, now);
    if (alert.state == AlertState::pending && now.watch_s - alert.active_s >= rule.for_s) {
      alert.state = AlertState::firing;
      alert.fired_at = format_utc(now.wall_s);
      changed.push_back(alert);
    } else if (alert.state == AlertState::pending && alert.active_s == now.watch_s) {
      changed.push_back(alert);
    }
  }
  const std::string first = rule.name + '\x1f';
  for (auto it = alerts_.lower_bound(first); it != alerts_.end() && it->first.starts_with(first);) {
    Alert& alert = it->second;
    if (active.contains(it->first) || alert.state == AlertState::resolved) {
      ++it;
    } else if (alert.state == AlertState::pending) {
      it = alerts_.erase(it);
    } else {
      alert.holds = false;
      if (now.watch_s - alert.last_active_s >= rule.keep_firing_s) {
        resolve(alert, now);
        changed.push_back(alert);
      }
      ++it;
    }
  }
  return changed;
}

std::vector<Alert> AlertStates::keep_only(const std::vector<AlertRule>& rules, const Instant& now) {
  std::set<std::string> names;
  for (const auto& rule : rules) names.insert(rule.name);
  std::vector<Alert> changed;
  for (auto it = alerts_.begin(); it != alerts_.end();) {
    Alert& alert = it->second;
    if (names.contains(alert.rule) || alert.state == AlertState::resolved) {
      ++it;
    } else if (alert.state == AlertState::pending) {
      it = alerts_.erase(it);
    } else {
      alert.what = "the rule is not there any more";
      resolve(alert, now);
      changed.push_back(alert);
      ++it;
    }
  }
  return changed;
}

void AlertStates::restart_pending(const Instant& now) {
  for (auto& [key, alert] : alerts_) {
    if (alert.state != AlertState::pending) continue;
    alert.active_s = now.watch_s;
    alert.active_at = format_utc(now.wall_s);
  }
}

std::optional<double> AlertStates::next_s(const std::vector<AlertRule>& rules) const {
  std::map<std::string, const AlertRule*> by_name;
  for (const auto& rule : rules) by_name[rule.name] = &rule;
  std::optional<double> next;
  for (const auto& [key, alert] : alerts_) {
    const auto rule = by_name.find(alert.rule);
    if (rule == by_name.end() || alert.state == AlertState::resolved) continue;
    if (alert.state == AlertState::firing && alert.holds) continue;
    const double at_s = alert.state == AlertState::pending ? alert.active_s + rule->second->for_s
                                                           : alert.last_active_s + rule->second->keep_firing_s;
    if (!next || at_s < *next) next = at_s;
  }
  return next;
}

std::size_t AlertStates::firing() const {
  return static_cast<std::size_t>(std::count_if(
      alerts_.begin(), alerts_.end(), [](const auto& entry) { return entry.second.state == AlertState::firing; }));
}

}  // namespace warpmark::watch
