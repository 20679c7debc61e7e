// The states of alerts: inactive (which is not kept), pending, firing, resolved, as Prometheus has them
// (prometheus.io/docs/prometheus/latest/configuration/alerting_rules, github.com/prometheus/prometheus
// rules/alerting.go). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "watch/alerts/alert.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

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

}  // namespace warpmark::watch
