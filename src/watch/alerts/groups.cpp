#include "watch/alerts/groups.h"

#include <fmt/format.h>

#include <algorithm>

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
      if (alert.state == AlertState::resolved && has(alert.told_resolved, sink)) continue;
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
const char* reason_to_tell(const AlertGroup& group, const Members& members, const AlertRules& rules, bool wants_ends,
                           const AlertGroups::Flush& flush) {
  const bool fresh = std::any_of(members.firing.begin(), members.firing.end(),
                                 [&](const Alert* alert) { return !has(alert->told, group.sink); });
  const bool ended = wants_ends && !members.resolved.empty();
  if (fresh) return group.told_s ? "changed" : "new";
  if (ended) return members.firing.empty() ? "resolved" : "changed";
  const bool old = group.told_s && flush.now.watch_s - *group.told_s >= rules.repeat_interval_s;
  const bool waiting = flush.on_its_way && flush.on_its_way(group);
  return old && !members.firing.empty() && !waiting ? "repeated" : nullptr;
}

void forget_ended(AlertStates& states) {
  std::erase_if(states.alerts(), [](const auto& entry) {
    const Alert& alert = entry.second;
    return alert.state == AlertState::resolved &&
           std::all_of(alert.to.begin(), alert.to.end(),
                       [&](const std::string& sink) { return has(alert.told_resolved, sink); });
  });
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
    const char* reason = gone ? nullptr : reason_to_tell(group, members, rules, wants_ends, flush);
    group.news = reason != nullptr;
    if (group.next_s > flush.now.watch_s && !flush.at_once) continue;
    if (!wants_ends) {
      for (Alert* alert : members.resolved) add_once(alert->told_resolved, group.sink);
    }
    if (reason != nullptr) {
      if (!wants_ends) members.resolved.clear();
      messages.push_back(message_of(group, members, flush, reason));
      for (Alert* alert : members.firing) add_once(alert->told, group.sink);
      for (Alert* alert : members.resolved) add_once(alert->told_resolved, group.sink);
      group.told_s = flush.now.watch_s;
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
    const double repeat_s = group.told_s ? *group.told_s + rules.repeat_interval_s : group.next_s;
    const double at_s = group.news ? group.next_s : std::max(group.next_s, repeat_s);
    if (!next || at_s < *next) next = at_s;
  }
  return next;
}

}  // namespace warpmark::watch
