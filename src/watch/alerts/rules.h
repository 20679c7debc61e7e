// What `warpmark watch` looks at, when that is an alert, and who is told. States and words are those of Prometheus and
// its Alertmanager, so that nobody has to learn others: an alert is inactive, pending while its condition holds for
// less than `for`, firing, resolved (prometheus.io/docs/prometheus/latest/configuration/alerting_rules); alerts are
// grouped, and a group is told after group_wait, again where it changed after group_interval, and again where nothing
// changed after repeat_interval (prometheus.io/docs/alerting/latest/configuration, "route"). docs/watch.md has what
// differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/yaml.h"
#include "model/fields/names.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

inline constexpr const char* kRulesSchema = "warpmark.alert_rules/1";

/// Most alerts of one rule at a time; what is beyond is counted and told, not kept.
inline constexpr std::size_t kMostAlertsOfRule = 10'000;

enum class RuleSource {
  live,     ///< a metric of this machine, as `warpmark exporter` names it
  history,  ///< the newest results of stored series
  check,    ///< verdicts of newest sessions against the history of a branch
};
constexpr auto kRuleSourceNames = in_order(RuleSource::check, "live", "history", "check");
constexpr Names names_of(RuleSource) { return kRuleSourceNames; }
enum class RuleCondition { above, below, change, no_data, verdict };
constexpr auto kRuleConditionNames = in_order(RuleCondition::verdict, "above", "below", "change", "no_data", "verdict");
constexpr Names names_of(RuleCondition) { return kRuleConditionNames; }
enum class ChangeKind { worse, better, any };
constexpr auto kChangeKindNames = in_order(ChangeKind::any, "worse", "better", "any");
constexpr Names names_of(ChangeKind) { return kChangeKindNames; }

struct AlertRule {
  std::string name;
  std::string severity = "warning";  ///< "info", "warning", "critical"
  std::string summary;               ///< of the rule's author; may be empty
  RuleSource source = RuleSource::live;
  std::string select;  ///< glob: of a metric's name (live), of "metric" or "benchmark metric" (history, check)
  Labels labels;       ///< live: globs that a sample's labels must match
  std::optional<std::string> branch;  ///< history: absent is main where it has results, else all; empty is all
  std::string baseline = "main";      ///< check
  bool dirty = false;                 ///< history: also results with uncommitted changes
  RuleCondition condition = RuleCondition::above;
  std::string limit;  ///< above, below: "85", "2 s", "10 GB/s"
  ChangeKind change = ChangeKind::worse;
  double threshold = 0.05;         ///< change, verdict: smallest relative change that counts
  double forget_s = 14 * 86400.0;  ///< change, verdict: after that the new level is how things are
  double no_data_s = 0;
  std::vector<std::string> verdicts;  ///< as verdicts are named: "worse", "unreliable"
  double for_s = 0;
  double keep_firing_s = 0;     ///< how long the condition must not hold before it is resolved
  std::vector<std::string> to;  ///< names of sinks
  std::int64_t line = 0;        ///< in the file
};

/// Where a secret is: never in the file of rules, never on a command line.
struct Secret {
  std::string variable;  ///< of the environment ...
  std::string file;      ///< ... or a file, read anew for each use
  [[nodiscard]] bool given() const { return !variable.empty() || !file.empty(); }
};

struct CommandSink {
  std::vector<std::string> words;  ///< run without a shell; the alert is its standard input, as JSON
};
enum class WebhookFormat { json, slack, teams };
constexpr auto kWebhookFormatNames = in_order(WebhookFormat::teams, "json", "slack", "teams");
constexpr Names names_of(WebhookFormat) { return kWebhookFormatNames; }
struct WebhookSink {
  WebhookFormat format = WebhookFormat::json;
  std::string url;    ///< of json: where it is no secret ...
  Secret secret_url;  ///< ... else this
  Secret token;       ///< sent as "Authorization: Bearer"; may be absent
  std::string ca_file;
};
enum class MailTls { starttls, smtps, none };
constexpr auto kMailTlsNames = in_order(MailTls::none, "starttls", "smtps", "none");
constexpr Names names_of(MailTls) { return kMailTlsNames; }
struct MailSink {
  std::string host;
  std::uint16_t port = 0;
  MailTls tls = MailTls::starttls;
  std::string user;
  Secret password;
  std::string from;
  std::vector<std::string> to;
  std::string ca_file;
};
struct GithubSink {
  std::string api = "https://api.github.com";
  std::string repository;  ///< "owner/name"
  std::int64_t issue = 0;
  Secret token;
  std::string ca_file;
};

struct Sink {
  std::string name;
  bool resolved = true;  ///< tell it also what ended
  double timeout_s = 10;
  std::variant<CommandSink, WebhookSink, MailSink, GithubSink> kind;
  std::int64_t line = 0;
};

struct AlertRules {
  double interval_s = 60;  ///< between two looks
  double group_wait_s = 30;
  double group_interval_s = 300;
  double repeat_interval_s = 4 * 3600.0;
  std::vector<std::string> group_by = {"rule"};  ///< "rule", "severity", or labels
  std::vector<AlertRule> rules;
  std::vector<Sink> sinks;
};

/// `file` is the name in errors, which are data errors that name the line.
[[nodiscard]] Result<AlertRules> parse_alert_rules(std::string_view yaml, std::string_view file);

/// One entry of `sinks`. Secrets are named here and never written; an address that is itself one (Slack, Teams) has to
/// be named as well.
[[nodiscard]] Status read_sink(const YamlReader& reader, const YamlNode& node, Sink& into);

/// A name of a rule or a sink: up to 100 letters, digits, '_', '-' and '.'. The form's text names it in errors.
[[nodiscard]] Status read_name(const YamlReader& reader, const YamlNode& node, const YamlKey& key, std::string& into);

}  // namespace warpmark::watch
