#include "watch/alerts/alert.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/untrusted/read_fields.h"
#include "report/draw/format.h"

namespace warpmark::watch {
namespace {

Json labels_json(const Labels& labels) {
  Json json = Json::object();
  for (const auto& [name, value] : labels) json[name] = value;
  return json;
}

Json labels_list(const Labels& labels) {
  Json json = Json::array();
  for (const auto& [name, value] : labels) json.push_back({name, value});
  return json;
}

Labels listed_labels(const Json& json) {
  Labels labels;
  for (const auto& pair : json) labels.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  return labels;
}

Alert alert_from(const Json& json) {
  Alert alert;
  alert.rule = json.at("rule").get<std::string>();
  alert.severity = json.at("severity").get<std::string>();
  alert.summary = json.at("summary").get<std::string>();
  alert.labels = listed_labels(json.at("labels"));
  const auto state = json.at("state").get<std::string>();
  alert.state = state == "firing"     ? AlertState::firing
                : state == "resolved" ? AlertState::resolved
                                      : AlertState::pending;
  if (json.contains("value")) alert.value = json.at("value").get<double>();
  alert.unit = json.at("unit").get<std::string>();
  alert.what = json.at("what").get<std::string>();
  alert.active_s = json.at("active_s").get<double>();
  alert.last_active_s = json.at("last_active_s").get<double>();
  alert.active_at = json.at("active_at").get<std::string>();
  alert.fired_at = json.at("fired_at").get<std::string>();
  alert.resolved_at = json.at("resolved_at").get<std::string>();
  alert.to = json.at("to").get<std::vector<std::string>>();
  alert.reported = json.at("told").get<std::vector<std::string>>();
  alert.notified_resolved = json.at("told_resolved").get<std::vector<std::string>>();
  return alert;
}

Message message_from(const Json& json) {
  Message message;
  message.id = json.at("id").get<std::string>();
  message.sink = json.at("sink").get<std::string>();
  message.host = json.at("host").get<std::string>();
  message.time = json.at("time").get<std::string>();
  message.reason = json.at("reason").get<std::string>();
  message.group = listed_labels(json.at("group"));
  for (const auto& alert : json.at("firing")) message.firing.push_back(alert_from(alert));
  for (const auto& alert : json.at("resolved")) message.resolved.push_back(alert_from(alert));
  message.firing_count = json.at("firing_count").get<std::int64_t>();
  message.resolved_count = json.at("resolved_count").get<std::int64_t>();
  return message;
}

template <typename Read>
auto read_kept(const Json& json, Read&& read) -> Result<decltype(read(json))> {
  using Value = decltype(read(json));
  return read_fields("the state of the alerts", [&]() -> Result<Value> { return read(json); });
}

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

Json shown_json(const Alert& alert) {
  Json json = {{"rule", alert.rule},
               {"severity", alert.severity},
               {"state", name_of(alert.state)},
               {"labels", labels_json(alert.labels)},
               {"what", alert.what},
               {"active_at", alert.active_at}};
  if (!alert.summary.empty()) json["summary"] = alert.summary;
  if (alert.value) json["value"] = *alert.value;
  if (!alert.unit.empty()) json["unit"] = alert.unit;
  if (!alert.fired_at.empty()) json["fired_at"] = alert.fired_at;
  if (!alert.resolved_at.empty()) json["resolved_at"] = alert.resolved_at;
  return json;
}

Json to_json(const Message& message) {
  Json json = {{"schema", kAlertSchema},
               {"id", message.id},
               {"status", message.firing_count > 0 ? "firing" : "resolved"},
               {"reason", message.reason},
               {"sink", message.sink},
               {"host", message.host},
               {"time", message.time},
               {"group", labels_json(message.group)},
               {"firing_count", message.firing_count},
               {"resolved_count", message.resolved_count},
               {"firing", Json::array()},
               {"resolved", Json::array()}};
  for (const auto& alert : message.firing) json["firing"].push_back(shown_json(alert));
  for (const auto& alert : message.resolved) json["resolved"].push_back(shown_json(alert));
  return json;
}

Json kept_json(const Alert& alert) {
  Json json = {{"rule", alert.rule},
               {"severity", alert.severity},
               {"summary", alert.summary},
               {"labels", labels_list(alert.labels)},
               {"state", name_of(alert.state)},
               {"unit", alert.unit},
               {"what", alert.what},
               {"active_s", alert.active_s},
               {"last_active_s", alert.last_active_s},
               {"active_at", alert.active_at},
               {"fired_at", alert.fired_at},
               {"resolved_at", alert.resolved_at},
               {"to", alert.to},
               {"told", alert.reported},
               {"told_resolved", alert.notified_resolved}};
  if (alert.value) json["value"] = *alert.value;
  return json;
}

Json kept_json(const Message& message) {
  Json json = {{"id", message.id},
               {"sink", message.sink},
               {"host", message.host},
               {"time", message.time},
               {"reason", message.reason},
               {"group", labels_list(message.group)},
               {"firing", Json::array()},
               {"resolved", Json::array()},
               {"firing_count", message.firing_count},
               {"resolved_count", message.resolved_count}};
  for (const auto& alert : message.firing) json["firing"].push_back(kept_json(alert));
  for (const auto& alert : message.resolved) json["resolved"].push_back(kept_json(alert));
  return json;
}

Result<Alert> kept_alert(const Json& json) { return read_kept(json, alert_from); }
Result<Message> kept_message(const Json& json) { return read_kept(json, message_from); }

const char* name_of(AlertState state) {
  return state == AlertState::firing ? "firing" : state == AlertState::resolved ? "resolved" : "pending";
}

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
