#include "watch/alerts/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "report/draw/format.h"
#include "watch/alerts/states.h"

namespace warpmark::watch {
namespace {

constexpr std::size_t kShownAlerts = 100;

class Past {
 public:
  Past(const AlertRules& rules, StoredHistory& history, const ReplayOptions& options)
      : rules_(rules), history_(history), options_(options) {}

  Result<Replay> play() {
    result_.from = format_utc(options_.from_s);
    result_.to = format_utc(options_.to_s);
    std::set<double> agenda = {options_.from_s, options_.to_s};
    for (const auto& rule : rules_.rules) {
      if (rule.source == RuleSource::live) {
        result_.live.push_back(rule.name);
        continue;
      }
      result_.by_rule[rule.name] = 0;
      for (const double at_s : history_.moments(rule, options_.from_s, options_.to_s)) agenda.insert(at_s);
    }
    if (!result_.live.empty())
      result_.notes.push_back("live metrics have no history: nothing is known of " + join(result_.live, ", "));
    for (const auto& sink : rules_.sinks) result_.messages[sink.name] = 0;
    double at_s = options_.from_s;
    while (true) {
      if (options_.interrupted != nullptr && options_.interrupted->load()) return environment_error("interrupted");
      step(at_s);
      const auto next_s = next_moment(agenda, at_s);
      if (!next_s) break;
      at_s = *next_s;
    }
    finish();
    return std::move(result_);
  }

 private:
  void step(double at_s) {
    const Instant now{at_s, at_s};
    for (const auto& rule : rules_.rules) {
      if (rule.source == RuleSource::live) continue;
      const auto found = history_.evaluate(rule, at_s);
      if (!found.problem.empty()) add_once("rule " + rule.name + ": " + found.problem);
      if (found.left_out > 0) add_once(fmt::format("rule {} had more than {} alerts", rule.name, kMostAlertsOfRule));
      for (const auto& alert : states_.update(rule, found, now)) note(alert);
    }
    for (const auto& message : groups_.flush(states_, rules_, {.now = now, .host = options_.host})) {
      ++result_.messages[message.sink];
    }
  }

  /// Alerts are told apart by when their condition began to hold.
  void note(const Alert& alert) {
    const auto key = std::pair(key_of(alert.rule, alert.labels), alert.active_at);
    if (alert.state == AlertState::firing) {
      ++result_.by_rule[alert.rule];
      by_key_[key] = result_.alerts.size();
      result_.alerts.push_back(alert);
    } else if (alert.state == AlertState::resolved) {
      const auto known = by_key_.find(key);
      if (known != by_key_.end()) result_.alerts[known->second].resolved_at = alert.resolved_at;
    }
  }

  void add_once(const std::string& note) {
    if (std::find(result_.notes.begin(), result_.notes.end(), note) == result_.notes.end()) {
      result_.notes.push_back(note);
    }
  }

  std::optional<double> next_moment(const std::set<double>& agenda, double at_s) const {
    std::optional<double> next;
    const auto consider = [&](std::optional<double> candidate) {
      if (!candidate) return;
      // Rounding must not make a moment come twice.
      const double after_s = std::max(*candidate, at_s + 1e-3);
      if (after_s <= options_.to_s && (!next || after_s < *next)) next = after_s;
    };
    if (const auto later = agenda.upper_bound(at_s); later != agenda.end()) consider(*later);
    consider(states_.next_s(rules_.rules));
    consider(groups_.next_s(rules_));
    return next;
  }

  void finish() {
    for (auto& alert : result_.alerts) {
      if (alert.resolved_at.empty()) continue;
      alert.state = AlertState::resolved;
    }
  }

  const AlertRules& rules_;
  StoredHistory& history_;
  const ReplayOptions& options_;
  AlertStates states_;
  AlertGroups groups_;
  Replay result_;
  std::map<std::pair<std::string, std::string>, std::size_t> by_key_;
};

std::string of_alert(const Labels& labels, const std::string& name) {
  for (const auto& [label, value] : labels) {
    if (label == name) return report::without_controls(value);
  }
  return "";
}

/// "2026-11-13 02:00", as a table has no room for more.
std::string to_the_minute(const std::string& utc) {
  std::string text = utc.substr(0, 16);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

Table alerts_table(const Replay& replay) {
  Table table;
  table.columns = {{"fired", Align::left, 0},     {"resolved", Align::left, 0}, {"rule", Align::left, 0},
                   {"benchmark", Align::left, 0}, {"metric", Align::left, 0},   {"host", Align::left, 2},
                   {"why", Align::left, 1}};
  for (std::size_t i = 0; i < replay.alerts.size() && i < kShownAlerts; ++i) {
    const auto& alert = replay.alerts[i];
    const bool still = alert.resolved_at.empty();
    const Tone tone = alert.severity == "critical" ? Tone::bad : alert.severity == "info" ? Tone::plain : Tone::warning;
    table.rows.push_back({{to_the_minute(alert.fired_at), Tone::plain},
                          {still ? "fires still" : to_the_minute(alert.resolved_at), still ? Tone::bad : Tone::quiet},
                          {alert.rule, tone},
                          {of_alert(alert.labels, "benchmark"), Tone::plain},
                          {of_alert(alert.labels, "metric"), Tone::plain},
                          {of_alert(alert.labels, "host"), Tone::plain},
                          {report::without_controls(alert.what), Tone::quiet}});
  }
  const auto has_host = std::any_of(replay.alerts.begin(), replay.alerts.end(),
                                    [](const Alert& alert) { return !of_alert(alert.labels, "host").empty(); });
  if (!has_host) {
    table.columns.erase(table.columns.begin() + 5);
    for (auto& row : table.rows) row.erase(row.begin() + 5);
  }
  return table;
}

Paragraph without_alerts(const Replay& replay) {
  if (!replay.by_rule.empty()) return {"Nothing.", Tone::good};
  return {"No rule can be evaluated from history: all are about live metrics.", Tone::warning};
}

Table rules_table(const Replay& replay) {
  Table table;
  table.columns = {{"rule", Align::left, 0}, {"fired", Align::right, 0}};
  for (const auto& [rule, count] : replay.by_rule) {
    table.rows.push_back({{rule, Tone::plain}, {std::to_string(count), count > 0 ? Tone::warning : Tone::quiet}});
  }
  return table;
}

constexpr Field kReplayFields[] = {
    field<&Replay::from>("from").ruled(kUtc),
    field<&Replay::to>("to").ruled(kUtc),
    field<&Replay::alerts>("alerts", "By when they fired; without resolved_at: fires still.", kAlert),
    field<&Replay::messages>("messages", "That each sink would have got.").within(kNonNegative),
    field<&Replay::by_rule>("rules", "How often each rule fired.").within(kNonNegative),
    field<&Replay::notes>("notes"),
};

}  // namespace

Result<Replay> replay(const AlertRules& rules, StoredHistory& history, const ReplayOptions& options) {
  return Past(rules, history, options).play();
}

Report build_report(const Replay& replay) {
  Report report;
  report.title = "What would have fired";
  report.subtitle = fmt::format("{} to {} UTC", to_the_minute(replay.from), to_the_minute(replay.to));
  Section alerts;
  if (replay.alerts.empty()) alerts.blocks.emplace_back(without_alerts(replay));
  if (!replay.alerts.empty()) alerts.blocks.emplace_back(alerts_table(replay));
  if (replay.alerts.size() > kShownAlerts) {
    alerts.blocks.emplace_back(Paragraph{fmt::format("and {} more", replay.alerts.size() - kShownAlerts)});
  }
  report.sections.push_back(std::move(alerts));
  if (!replay.by_rule.empty()) report.sections.push_back({"Rules", {rules_table(replay)}});
  if (!replay.messages.empty()) {
    std::vector<std::string> reported;
    for (const auto& [sink, count] : replay.messages) reported.push_back(fmt::format("{} to {}", count, sink));
    report.sections.push_back({"Messages", {Paragraph{join(reported, ", ") + "."}}});
  }
  if (!replay.notes.empty()) {
    Section notes{"Notes", {}};
    for (const auto& note : replay.notes) {
      notes.blocks.emplace_back(Paragraph{report::without_controls(note), Tone::quiet});
    }
    report.sections.push_back(std::move(notes));
  }
  return report;
}

constexpr RecordOf<Replay> kReplay{
    "replay",
    "What `warpmark watch --dry-run --format json` prints: what would have fired over the history that is stored.",
    kReplayFields, "warpmark.alert_replay/1"};

}  // namespace warpmark::watch
