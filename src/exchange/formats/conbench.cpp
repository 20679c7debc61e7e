// Results of Conbench (conbench.ursa.dev, its REST API and benchadapt): one, or an array of them. "data" holds the
// values of the iterations in "unit", "times" their durations where these are something else.
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool is_result(const Json& json) {
  return json.is_object() && json.contains("tags") && json["tags"].is_object() && json.contains("stats");
}

bool detect_conbench(const Document& document) {
  if (!document.json) return false;
  const Json& json = *document.json;
  return is_result(json) || (json.is_array() && !json.empty() && is_result(json[0]));
}

Status add_values(JsonFields& stats, const char* key, const char* unit_key, const char* id, Run& run) {
  std::vector<double> values;
  std::string unit_text;
  stats.maybe(key, values);
  stats.maybe(unit_key, unit_text);
  const Unit unit = unit_of(unit_text == "i/s" ? "items/s" : unit_text);
  for (double& value : values) value = unit.to_si(value);
  return add_metric(run, {id != nullptr ? id : metric_for(unit.si), unit.si.c_str(), direction_of_unit(unit.si)},
                    std::move(values), Grouping::round_each);
}

Status read_result(JsonFields& fields, Session& session) {
  std::string name = "benchmark", started;
  Params params;
  const Json& tags = fields.json()["tags"];
  for (const auto& [key, value] : tags.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (key == "name") name = text;
  }
  Run& run = add_run(session, name, "cpu");
  run.timing.method = "Conbench";
  for (const auto& [key, value] : tags.items()) {
    if (key == "name" || value.is_null()) continue;
    WM_TRY(set_param(run, clean_text(key), param_value(value.is_string() ? value.get<std::string>() : value.dump())));
  }
  fields.maybe("timestamp", started);
  if (session.started.empty()) session.started = to_utc(started).value_or("");
  fields.object("github", false, [&](JsonFields& github) { github.maybe("commit", session.commit); });
  fields.object("machine_info", false, [&](JsonFields& machine) { machine.maybe("name", session.machine.hostname); });
  session.commit = clean_text(session.commit);
  session.machine.hostname = clean_text(session.machine.hostname);
  if (fields.has("error") && !fields.json()["error"].is_null()) {
    run.outcome = Outcome::error;
    run.fault = ErrorKind::usage;
    run.reason = clean_text(fields.json()["error"].dump());
    return {};
  }
  Status added;
  fields.object("stats", true, [&](JsonFields& stats) {
    added = add_values(stats, "data", "unit", nullptr, run);
    std::string unit, time_unit;
    stats.maybe("unit", unit);
    stats.maybe("time_unit", time_unit);
    if (added.ok() && unit_of(unit).si != "s") added = add_values(stats, "times", "time_unit", "time", run);
  });
  return added;
}

Result<std::vector<Session>> read_conbench(const Document& document) {
  if (!detect_conbench(document)) return data_error("it has no 'tags' and 'stats'");
  Session session = foreign_session("Conbench");
  ResultLimit limit(document.text);
  std::optional<Error> error;
  const bool several = document.json->is_array();
  for (std::size_t i = 0; i < (several ? document.json->size() : 1); ++i) {
    const Json& json = several ? (*document.json)[i] : *document.json;
    if (!is_result(json)) return data_error("result " + std::to_string(i + 1) + " has no 'tags' and 'stats'");
    JsonFields fields(json, several ? "[" + std::to_string(i) + "]" : "", error);
    if (!error) WM_TRY(read_result(fields, session));
    if (error) return *error;
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kConbench{"conbench", "results of Conbench", detect_conbench, read_conbench};

}  // namespace warpmark::exchange
