// Alerts and what is told of them, as plain data. Times: `watch` seconds look like those since 1970 but never go back
// and never leap, whatever is done to the clock; texts are UTC by the clock, for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/fields/fields.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// In schemas: UTC by the clock.
inline constexpr const char* kUtc = R"({"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"})";

/// One moment by both clocks.
struct Instant {
  double watch_s = 0;
  double wall_s = 0;  ///< since 1970
};

/// One thing for which the condition of a rule holds.
struct Active {
  Labels labels;  ///< tell it from others of the rule
  std::optional<double> value;
  std::string unit;
  std::string what;  ///< "91 is above 85"
};

/// What a look at one rule found.
struct Evaluation {
  std::string rule;
  std::vector<Active> active;
  bool known = true;          ///< false: it could not be looked at, and nothing is concluded from that
  std::string problem;        ///< why
  std::int64_t left_out = 0;  ///< active beyond what is kept
};

enum class AlertState { pending, firing, resolved };
constexpr auto kAlertStateNames = in_order(AlertState::resolved, "pending", "firing", "resolved");
constexpr Names names_of(AlertState) { return kAlertStateNames; }

struct Alert {
  std::string rule;
  std::string severity;
  std::string summary;
  Labels labels;
  AlertState state = AlertState::pending;
  std::optional<double> value;  ///< when the condition last held
  std::string unit;
  std::string what;
  double active_s = 0;       ///< watch time since when the condition holds
  double last_active_s = 0;  ///< when it last held
  bool holds = true;         ///< at the last look; not kept
  std::string active_at;
  std::string fired_at;     ///< empty while pending
  std::string resolved_at;  ///< empty until then
  std::vector<std::string> to;
  std::vector<std::string> reported;           ///< sinks that were told that it fires
  std::vector<std::string> notified_resolved;  ///< sinks that need not be told of it any more
};

/// Tells an alert from all others.
[[nodiscard]] std::string key_of(const std::string& rule, const Labels& labels);

/// A notification on its way to one sink.
struct Message {
  std::string id;  ///< the same each time it is tried
  std::string sink;
  std::string host;
  std::string time;    ///< UTC at which it was made
  std::string reason;  ///< "new", "changed", "repeated", "resolved", "test"
  Labels group;
  std::vector<Alert> firing;  ///< at most kMostShown of each
  std::vector<Alert> resolved;
  std::int64_t firing_count = 0;
  std::int64_t resolved_count = 0;
};
inline constexpr std::size_t kMostShown = 20;

/// "warpmark.alert/1" (docs/schema/alert.schema.json): what a command and a webhook get.
extern const RecordOf<Message> kMessage;
extern const RecordOf<Alert> kAlert;  ///< one of it

// For the file of the state, where everything is kept.
extern const RecordOf<Alert> kKeptAlert;
extern const RecordOf<Message> kKeptMessage;
extern const Form kLabelForm;  ///< of labels in their order: [name, value]

/// One line without control characters: "[FIRING:2] GpuHot on node7".
[[nodiscard]] std::string title_of(const Message& message);
/// Lines of plain text without other control characters.
[[nodiscard]] std::string text_of(const Message& message);
/// An alert in one line: "gpu=0: 91 is above 85".
[[nodiscard]] std::string line_of(const Alert& alert);

/// Slack's incoming webhooks: "plain_text" blocks, in which nothing is markup; of the fallback text & < > are escaped
/// (docs.slack.dev/messaging/formatting-message-text).
[[nodiscard]] Json slack_json(const Message& message);
/// An Adaptive Card, as webhooks of Teams' workflows take it; its text runs know no markdown
/// (learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors, adaptivecards.io/explorer/TextRun).
[[nodiscard]] Json teams_json(const Message& message);
/// A comment: the text in a fence that nothing in it ends.
[[nodiscard]] std::string github_comment(const Message& message);

struct MailAddresses {
  std::string from;
  std::vector<std::string> to;
};
/// RFC 5322 with CRLF: a subject in encoded words where it is not ASCII (RFC 2047), a body in base64.
[[nodiscard]] std::string mail_text(const Message& message, const MailAddresses& addresses, double wall_s);

}  // namespace warpmark::watch
