#include "watch/alerts/alert.h"

#include "base/json.h"
#include "base/untrusted/read_fields.h"

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
  alert.told = json.at("told").get<std::vector<std::string>>();
  alert.told_resolved = json.at("told_resolved").get<std::vector<std::string>>();
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
               {"told", alert.told},
               {"told_resolved", alert.told_resolved}};
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

}  // namespace warpmark::watch
