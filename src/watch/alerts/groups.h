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
#include "watch/alerts/states.h"

namespace warpmark::watch {

struct AlertGroup {
  std::string sink;
  Labels labels;
  double next_s = 0;             ///< watch time at which it is looked at next
  std::optional<double> told_s;  ///< when its last message was made
  std::int64_t messages = 0;     ///< made so far
  bool news = true;              ///< at the last flush something waited to be told
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
