// A message as each receiver reads it. Names of benchmarks, labels and hosts come from anywhere: nothing in them is
// markup, mentions somebody or begins a header. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "watch/alerts/alert.h"

namespace warpmark::watch {

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
