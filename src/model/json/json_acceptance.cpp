#include <array>
#include <utility>

#include "base/json.h"
#include "model/acceptance.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"

namespace warpmark {
namespace {

constexpr std::array<std::pair<Comparator, const char*>, 4> kComparators{{{Comparator::at_least, ">="},
                                                                          {Comparator::at_most, "<="},
                                                                          {Comparator::equal, "=="},
                                                                          {Comparator::between, "between"}}};

Json row_json(const AcceptanceRow& row) {
  Json json;
  json["title"] = row.title;
  json["required"] = row.required;
  json["subject"] = row.subject;
  put_text(json, "device", row.device);
  put_text(json, "metric", row.metric);
  put_text(json, "unit", row.unit);
  json["operator"] = name_of(row.comparator);
  if (!row.limits.empty()) json["limits"] = row.limits;
  put_text(json, "limit_text", row.limit_text);
  put_text(json, "limit_source", row.limit_source);
  put_optional(json, "value", row.value);
  put_text(json, "value_text", row.value_text);
  if (row.interval) json["interval"] = interval_json(*row.interval);
  json["state"] = name_of(row.state);
  put_text(json, "reason", row.reason);
  put_text(json, "repro", row.repro);
  return json;
}

}  // namespace

const char* name_of(Comparator comparator) {
  for (const auto& [value, name] : kComparators) {
    if (value == comparator) return name;
  }
  return "";
}

std::optional<Comparator> comparator_from(std::string_view text) {
  for (const auto& [value, name] : kComparators) {
    if (text == name) return value;
  }
  return std::nullopt;
}

const char* name_of(RowState state) {
  switch (state) {
    case RowState::pass: return "pass";
    case RowState::fail: return "fail";
    case RowState::undecided: return "undecided";
    case RowState::unreliable: return "unreliable";
    case RowState::not_measurable: return "not measurable";
  }
  return "";
}

RowState overall(const Acceptance& acceptance) {
  constexpr std::array kGravest{RowState::fail, RowState::unreliable, RowState::undecided, RowState::not_measurable};
  bool any = false;
  for (const auto state : kGravest) {
    for (const auto& row : acceptance.rows) {
      any = any || row.required;
      if (row.required && row.state == state) return state;
    }
  }
  return any ? RowState::pass : RowState::not_measurable;
}

Json to_json(const Acceptance& acceptance) {
  Json json;
  json["schema"] = kAcceptanceSchema;
  json["name"] = acceptance.name;
  put_text(json, "summary", acceptance.summary);
  json["result"] = name_of(overall(acceptance));
  json["criteria"] = {{"file", acceptance.criteria_file}, {"sha256", acceptance.criteria_sha256}};
  json["started"] = acceptance.started;
  put_text(json, "command", acceptance.command);
  put_text(json, "session", acceptance.session);
  put_text(json, "session_started", acceptance.session_started);
  json["machine"] = to_json(acceptance.machine);
  json["build"] = to_json(acceptance.build);
  json["datasheets"] = Json::array();
  for (const auto& sheet : acceptance.datasheets) {
    json["datasheets"].push_back({{"id", sheet.id}, {"name", sheet.name}, {"sources", sheet.sources}});
  }
  json["rows"] = Json::array();
  for (const auto& row : acceptance.rows) json["rows"].push_back(row_json(row));
  return json;
}

}  // namespace warpmark
