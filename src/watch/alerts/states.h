// Which messages follow from the states of alerts: grouped by labels, told when something changed, repeated only after
// a time, as the Alertmanager does it (prometheus.io/docs/alerting/latest/alertmanager; its dedup stage,
// github.com/prometheus/alertmanager notify/notify.go). One difference: an alert that was over before its group was
// told is told as resolved, with its times, and not kept quiet. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "watch/alerts/alert.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

// The states of alerts: inactive (which is not kept), pending, firing, resolved, as Prometheus has them
// (prometheus.io/docs/prometheus/latest/configuration/alerting_rules, github.com/prometheus/prometheus
// rules/alerting.go). Pure.

class AlertStates {
 public:
  /// Sets the alerts of a rule to what was found now; returns those whose state changed. An evaluation that is not
  /// known changes nothing: what could not be looked at is neither better nor worse.
  std::vector<Alert> update(const AlertRule& rule, const Evaluation& found, const Instant& now);
  /// Resolves the firing alerts of rules that are not among these, as of rules that were deleted; drops pending ones.
  std::vector<Alert> keep_only(const std::vector<AlertRule>& rules, const Instant& now);
  /// Pending alerts begin anew: nobody looked for too long to say that their condition held all the time.
  void restart_pending(const Instant& now);
  /// The next moment at which an alert changes its state if nothing else changes.
  [[nodiscard]] std::optional<double> next_s(const std::vector<AlertRule>& rules) const;

  [[nodiscard]] std::map<std::string, Alert>& alerts() { return alerts_; }
  [[nodiscard]] const std::map<std::string, Alert>& alerts() const { return alerts_; }
  [[nodiscard]] std::size_t firing() const;

 private:
  std::map<std::string, Alert> alerts_;  ///< by key_of
};

struct AlertGroup {
  std::string sink;
  Labels labels;
  double next_s = 0;                 ///< watch time at which it is looked at next
  std::optional<double> notified_s;  ///< when its last message was made
  std::int64_t messages = 0;         ///< made so far
  bool news = true;                  ///< at the last flush something waited to be told
};

class AlertGroups {
 public:
  struct Flush {
    Instant now;
    std::string host;
    bool at_once = false;  ///< without waiting for others: where nobody looks again soon
    /// Whether a message of this group is still on its way: then nothing is repeated.
    std::function<bool(const AlertGroup&)> on_its_way{};
  };
  /// The messages that are due. Marks in `states` who was told what, and removes resolved alerts that all were told of.
  [[nodiscard]] std::vector<Message> flush(AlertStates& states, const AlertRules& rules, const Flush& flush);
  /// When a message is due next if nothing changes; none if that is never.
  [[nodiscard]] std::optional<double> next_s(const AlertRules& rules) const;

  [[nodiscard]] std::map<std::string, AlertGroup>& groups() { return groups_; }
  [[nodiscard]] const std::map<std::string, AlertGroup>& groups() const { return groups_; }

 private:
  std::map<std::string, AlertGroup> groups_;  ///< by key_of(sink, labels)
};

}  // namespace warpmark::watch
