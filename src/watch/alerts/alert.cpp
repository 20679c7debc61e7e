#include "watch/alerts/alert.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "report/draw/format.h"

namespace warpmark::watch {
namespace {

using Label = Labels::value_type;

constexpr Field kAlertFields[] = {
    field<&Alert::rule>("rule"),
    field<&Alert::severity>("severity").ruled(R"({"enum": ["info", "warning", "critical"]})"),
    field<&Alert::state>("state"),
    keyed<&Alert::labels, &Label::first, &Label::second>(
        "labels", "What it is about: benchmark, metric, host; of live metrics metric and its labels."),
    field<&Alert::what>("what", "A sentence for people."),
    field<&Alert::active_at>("active_at").ruled(kUtc),
    field<&Alert::summary>("summary").unless_empty(),
    field<&Alert::value>("value", "SI, without prefixes."),
    field<&Alert::unit>("unit").unless_empty(),
    field<&Alert::fired_at>("fired_at").ruled(kUtc).unless_empty(),
    field<&Alert::resolved_at>("resolved_at").ruled(kUtc).unless_empty()};

constexpr const char* kMostAlerts = R"({"maxItems": 20})";
static_assert(kMostShown == 20);
constexpr Field kMessageFields[] = {
    field<&Message::id>("id", "The same each time the message is tried: by it a receiver knows what it got twice."),
    derived("status", "resolved: no alert of the group fires any more.",
            [](const Message& message) { return message.firing_count > 0 ? "firing" : "resolved"; })
        .ruled(R"({"enum": ["firing", "resolved"]})"),
    field<&Message::reason>("reason").ruled(R"({"enum": ["new", "changed", "repeated", "resolved", "test"]})"),
    field<&Message::sink>("sink"),
    field<&Message::host>("host", "Where the watch runs."),
    field<&Message::time>("time").ruled(kUtc),
    keyed<&Message::group, &Label::first, &Label::second>("group"),
    field<&Message::firing_count>("firing_count").within(kNonNegative),
    field<&Message::resolved_count>("resolved_count").within(kNonNegative),
    field<&Message::firing>("firing", "The newest of them.", kAlert).ruled(kMostAlerts),
    field<&Message::resolved>("resolved", "", kAlert).ruled(kMostAlerts)};

constexpr Field kKeptAlertFields[] = {field<&Alert::rule>("rule"),
                                      field<&Alert::severity>("severity"),
                                      field<&Alert::summary>("summary"),
                                      field<&Alert::labels>("labels").formed(kLabelForm),
                                      field<&Alert::state>("state"),
                                      field<&Alert::unit>("unit"),
                                      field<&Alert::what>("what"),
                                      field<&Alert::active_s>("active_s"),
                                      field<&Alert::last_active_s>("last_active_s"),
                                      field<&Alert::active_at>("active_at"),
                                      field<&Alert::fired_at>("fired_at"),
                                      field<&Alert::resolved_at>("resolved_at"),
                                      field<&Alert::to>("to"),
                                      field<&Alert::reported>("told"),
                                      field<&Alert::notified_resolved>("told_resolved"),
                                      field<&Alert::value>("value")};

constexpr Field kKeptMessageFields[] = {field<&Message::id>("id"),
                                        field<&Message::sink>("sink"),
                                        field<&Message::host>("host"),
                                        field<&Message::time>("time"),
                                        field<&Message::reason>("reason"),
                                        field<&Message::group>("group").formed(kLabelForm),
                                        field<&Message::firing>("firing", "", kKeptAlert),
                                        field<&Message::resolved>("resolved", "", kKeptAlert),
                                        field<&Message::firing_count>("firing_count"),
                                        field<&Message::resolved_count>("resolved_count")};

constexpr std::size_t kLongestValue = 200;       // bytes of a label or a sentence
constexpr std::size_t kLongestSlack = 2900;      // its limit is 3000 characters
constexpr std::size_t kLongestTeams = 20'000;    // its limit is 28 KB for everything
constexpr std::size_t kLongestComment = 60'000;  // GitHub's is 65 536 characters

/// Cut between characters.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string one_line(std::string_view text) {
  std::string line = report::without_controls(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return shortened(line, kLongestValue);
}

std::string labels_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : ", ") + one_line(name + "=" + value);
  return text;
}

void add_alerts(std::string& text, const std::vector<Alert>& alerts, std::int64_t count, const char* heading) {
  if (alerts.empty()) return;
  text += fmt::format("\n{}\n", heading);
  for (const auto& alert : alerts) {
    text += fmt::format("- {} ({}) {}\n", alert.rule, alert.severity, line_of(alert));
    if (!alert.summary.empty()) text += "  " + one_line(alert.summary) + "\n";
    text += "  since " + alert.active_at;
    text += alert.resolved_at.empty() ? "\n" : ", ended " + alert.resolved_at + "\n";
  }
  const auto more = count - static_cast<std::int64_t>(alerts.size());
  if (more > 0) text += fmt::format("and {} more\n", more);
}

std::string as_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

/// RFC 2047, section 2: encoded words of at most 75 characters, cut between characters.
std::string encoded_subject(const std::string& subject) {
  const bool ascii = std::all_of(subject.begin(), subject.end(), [](char c) { return c >= ' ' && c < 0x7F; });
  if (ascii && subject.find("=?") == std::string::npos) return subject;
  constexpr std::size_t kMostBytes = 42;
  std::string out;
  std::string_view rest = subject;
  while (!rest.empty()) {
    std::size_t size = std::min(kMostBytes, rest.size());
    while (size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xC0) == 0x80) --size;
    out += (out.empty() ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?") + as_base64(rest.substr(0, size)) + "?=";
    rest.remove_prefix(size);
  }
  return out;
}

/// RFC 5322, section 3.3, whatever the locale.
std::string mail_date(double wall_s) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = static_cast<time_t>(wall_s);
  tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} +0000", kDays.at(static_cast<std::size_t>(parts.tm_wday)),
                     parts.tm_mday, kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::string key_of(const std::string& rule, const Labels& labels) {
  std::string key = rule + '\x1f';
  for (const auto& [name, value] : labels) key += name + '=' + std::to_string(value.size()) + ':' + value;
  return key;
}

constexpr RecordOf<Alert> kAlert{"alert", "", kAlertFields};
constexpr RecordOf<Message> kMessage{
    "message", "What `warpmark watch` gives a command as standard input and posts to a webhook: alerts of one group.",
    kMessageFields, "warpmark.alert/1"};
constexpr RecordOf<Alert> kKeptAlert{"alert", "", kKeptAlertFields};
constexpr RecordOf<Message> kKeptMessage{"message", "", kKeptMessageFields};

constexpr Form kLabelForm{[](const void* label) -> Json {
                            const auto& [name, value] = *static_cast<const Label*>(label);
                            return Json::array({name, value});
                          },
                          [](const Json& json, void* label) {
                            const bool pair =
                                json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string();
                            if (pair) *static_cast<Label*>(label) = {json[0], json[1]};
                            return pair ? nullptr : "a name and a value";
                          },
                          R"({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2})"};

std::string title_of(const Message& message) {
  const bool firing = message.firing_count > 0;
  std::string about;
  for (const auto& [name, value] : message.group) about += (about.empty() ? "" : " ") + one_line(value);
  return shortened(fmt::format("[{}:{}] {} on {}", firing ? "FIRING" : "RESOLVED",
                               firing ? message.firing_count : message.resolved_count,
                               about.empty() ? "warpmark watch" : about, one_line(message.host)),
                   kLongestValue);
}

std::string line_of(const Alert& alert) {
  const std::string labels = labels_text(alert.labels);
  return labels + (labels.empty() ? "" : ": ") + one_line(alert.what);
}

std::string text_of(const Message& message) {
  std::string text = title_of(message) + "\n";
  if (message.reason == "test") text += "\nThis is a test: nothing fires.\n";
  add_alerts(text, message.firing, message.firing_count, message.reason == "repeated" ? "Firing, still:" : "Firing:");
  add_alerts(text, message.resolved, message.resolved_count, "Resolved:");
  return text;
}

Json slack_json(const Message& message) {
  std::string fallback;
  for (const char c : title_of(message)) {
    fallback += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  const Json text = {{"type", "plain_text"}, {"text", shortened(text_of(message), kLongestSlack)}, {"emoji", false}};
  return {{"text", fallback}, {"blocks", Json::array({{{"type", "section"}, {"text", text}}})}};
}

Json teams_json(const Message& message) {
  const auto run = [](const std::string& text, const char* weight) {
    return Json{{"type", "RichTextBlock"},
                {"inlines", Json::array({{{"type", "TextRun"}, {"text", text}, {"weight", weight}}})}};
  };
  Json body = Json::array({run(title_of(message), "bolder")});
  const std::string text = shortened(text_of(message), kLongestTeams);
  for (const auto& line : split(text.substr(std::min(text.find('\n') + 1, text.size())), '\n')) {
    if (!line.empty()) body.push_back(run(line, "default"));
  }
  const Json card = {{"$schema", "http://adaptivecards.io/schemas/adaptive-card.json"},
                     {"type", "AdaptiveCard"},
                     {"version", "1.4"},
                     {"body", body}};
  return {
      {"type", "message"},
      {"attachments", Json::array({{{"contentType", "application/vnd.microsoft.card.adaptive"}, {"content", card}}})}};
}

std::string github_comment(const Message& message) {
  const std::string text = shortened(text_of(message), kLongestComment);
  std::size_t longest = 0, now = 0;
  for (const char c : text) {
    now = c == '`' ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  return fmt::format("{}\n{}{}{}\n<!-- warpmark-alert: {} -->\n", fence + "text", text,
                     text.ends_with('\n') ? "" : "\n", fence, message.id);
}

std::string mail_text(const Message& message, const MailAddresses& addresses, double wall_s) {
  const auto at = addresses.from.find('@');
  std::string text = "From: " + addresses.from + "\r\n";
  text += "To: " + join(addresses.to, ",\r\n ") + "\r\n";
  text += "Subject: " + encoded_subject(title_of(message)) + "\r\n";
  text += "Date: " + mail_date(wall_s) + "\r\n";
  text += fmt::format("Message-ID: <{}.{}@{}>\r\n", message.id, "warpmark", addresses.from.substr(at + 1));
  text += "Auto-Submitted: auto-generated\r\n";  // RFC 3834: nobody's holiday is to be answered
  text += "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n";
  const std::string body = as_base64(text_of(message));
  constexpr std::size_t kLine = 76;
  for (std::size_t i = 0; i < body.size(); i += kLine) text += body.substr(i, kLine) + "\r\n";
  return text;
}

}  // namespace warpmark::watch
