#include "watch/alerts/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/sha256.h"

namespace warpmark::watch {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (!has(names, name)) names.push_back(name);
}

Labels group_labels(const Alert& alert, const std::vector<std::string>& group_by) {
  Labels labels;
  for (const auto& name : group_by) {
    if (name == "rule" || name == "severity") {
      labels.emplace_back(name, name == "rule" ? alert.rule : alert.severity);
      continue;
    }
    const auto found =
        std::find_if(alert.labels.begin(), alert.labels.end(), [&](const auto& label) { return label.first == name; });
    if (found != alert.labels.end()) labels.push_back(*found);
  }
  return labels;
}

struct Members {
  std::vector<Alert*> firing;
  std::vector<Alert*> resolved;  ///< of which the sink was not told yet
};

using MembersByGroup = std::map<std::string, std::pair<AlertGroup, Members>>;

MembersByGroup members_of(AlertStates& states, const AlertRules& rules) {
  MembersByGroup found;
  for (auto& [key, alert] : states.alerts()) {
    if (alert.state == AlertState::pending) continue;
    for (const auto& sink : alert.to) {
      if (alert.state == AlertState::resolved && has(alert.notified_resolved, sink)) continue;
      auto labels = group_labels(alert, rules.group_by);
      auto& [group, members] = found[key_of(sink, labels)];
      group.sink = sink;
      group.labels = std::move(labels);
      (alert.state == AlertState::firing ? members.firing : members.resolved).push_back(&alert);
    }
  }
  return found;
}

/// The newest are shown, as it is they that the message is about.
std::vector<Alert> newest_of(std::vector<Alert*> alerts) {
  std::stable_sort(alerts.begin(), alerts.end(),
                   [](const Alert* a, const Alert* b) { return a->active_s > b->active_s; });
  std::vector<Alert> shown;
  for (std::size_t i = 0; i < alerts.size() && i < kMostShown; ++i) shown.push_back(*alerts[i]);
  return shown;
}

Message message_of(AlertGroup& group, const Members& members, const AlertGroups::Flush& flush, const char* reason) {
  Message message{.id = {}, .sink = group.sink, .host = flush.host, .time = format_utc(flush.now.wall_s)};
  message.reason = reason;
  message.group = group.labels;
  message.firing = newest_of(members.firing);
  message.resolved = newest_of(members.resolved);
  message.firing_count = static_cast<std::int64_t>(members.firing.size());
  message.resolved_count = static_cast<std::int64_t>(members.resolved.size());
  message.id = sha256_hex(fmt::format("{}\n{}\n{}\n{:.3f}", flush.host, key_of(group.sink, group.labels),
                                      group.messages++, flush.now.watch_s))
                   .substr(0, 16);
  return message;
}

/// Why the group is told now; nullptr if it is not.
const char* reason_to_notify(const AlertGroup& group, const Members& members, const AlertRules& rules, bool wants_ends,
                             const AlertGroups::Flush& flush) {
  const bool fresh = std::any_of(members.firing.begin(), members.firing.end(),
                                 [&](const Alert* alert) { return !has(alert->reported, group.sink); });
  const bool ended = wants_ends && !members.resolved.empty();
  if (fresh) return group.notified_s ? "changed" : "new";
  if (ended) return members.firing.empty() ? "resolved" : "changed";
  const bool old = group.notified_s && flush.now.watch_s - *group.notified_s >= rules.repeat_interval_s;
  const bool waiting = flush.on_its_way && flush.on_its_way(group);
  return old && !members.firing.empty() && !waiting ? "repeated" : nullptr;
}

void forget_ended(AlertStates& states) {
  std::erase_if(states.alerts(), [](const auto& entry) {
    const Alert& alert = entry.second;
    return alert.state == AlertState::resolved &&
           std::all_of(alert.to.begin(), alert.to.end(),
                       [&](const std::string& sink) { return has(alert.notified_resolved, sink); });
  });
}

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

std::vector<Message> AlertGroups::flush(AlertStates& states, const AlertRules& rules, const Flush& flush) {
  std::vector<Message> messages;
  auto found = members_of(states, rules);
  std::erase_if(groups_, [&](const auto& entry) { return !found.contains(entry.first); });
  for (auto& [key, entry] : found) {
    auto& members = entry.second;
    const auto [at, is_new] = groups_.try_emplace(key, entry.first);
    AlertGroup& group = at->second;
    if (is_new) group.next_s = flush.now.watch_s + rules.group_wait_s;
    const auto sink = std::find_if(rules.sinks.begin(), rules.sinks.end(),
                                   [&](const Sink& candidate) { return candidate.name == group.sink; });
    const bool gone = sink == rules.sinks.end();
    const bool wants_ends = !gone && sink->resolved;
    const char* reason = gone ? nullptr : reason_to_notify(group, members, rules, wants_ends, flush);
    group.news = reason != nullptr;
    if (group.next_s > flush.now.watch_s && !flush.at_once) continue;
    if (!wants_ends) {
      for (Alert* alert : members.resolved) add_once(alert->notified_resolved, group.sink);
    }
    if (reason != nullptr) {
      if (!wants_ends) members.resolved.clear();
      messages.push_back(message_of(group, members, flush, reason));
      for (Alert* alert : members.firing) add_once(alert->reported, group.sink);
      for (Alert* alert : members.resolved) add_once(alert->notified_resolved, group.sink);
      group.notified_s = flush.now.watch_s;
      group.news = false;
    }
    group.next_s = flush.now.watch_s + rules.group_interval_s;
  }
  forget_ended(states);
  return messages;
}

std::optional<double> AlertGroups::next_s(const AlertRules& rules) const {
  std::optional<double> next;
  for (const auto& [key, group] : groups_) {
    const double repeat_s = group.notified_s ? *group.notified_s + rules.repeat_interval_s : group.next_s;
    const double at_s = group.news ? group.next_s : std::max(group.next_s, repeat_s);
    if (!next || at_s < *next) next = at_s;
  }
  return next;
}

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
      for (const auto& sink : known->second.reported) {
        const auto& ended = known->second.notified_resolved;
        if (std::find(ended.begin(), ended.end(), sink) == ended.end()) fresh.reported.push_back(sink);
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
