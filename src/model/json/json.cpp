// Session and Ceiling as JSON; the parts are in json_run.cpp and json_machine.cpp.
#include "model/json/json.h"

#include "base/json.h"
#include "model/json/json_parts.h"

namespace warpmark {

namespace {

void read_ceiling(JsonFields& fields, Ceiling& ceiling) {
  fields.required("id", ceiling.id);
  fields.required("device", ceiling.device);
  fields.maybe("scope", ceiling.scope);
  fields.required("value", ceiling.value);
  fields.required("unit", ceiling.unit);
  fields.maybe("source", ceiling.source);
  fields.maybe("mistrusted", ceiling.unreliable);  // its name in files of before
  fields.maybe("unreliable", ceiling.unreliable);
}

void read_session(JsonFields& fields, Session& session) {
  std::string schema;
  fields.required("schema", schema);
  fields.required("id", session.id);
  fields.required("started", session.started);
  fields.maybe("command", session.command);
  fields.maybe("commit", session.commit);
  fields.maybe("branch", session.branch);
  fields.maybe("dirty", session.dirty);
  fields.maybe("complete", session.complete);
  fields.object("machine", true, [&](JsonFields& machine) { read_machine(machine, session.machine); });
  fields.object("build", true, [&](JsonFields& build) { read_build(build, session.build); });
  fields.each("ceilings", [&](JsonFields& item) { read_ceiling(item, session.ceilings.emplace_back()); });
  fields.each("runs", [&](JsonFields& item) { read_run(item, session.runs.emplace_back()); });
}

}  // namespace

Json to_json(const Ceiling& ceiling) {
  Json json{{"id", ceiling.id}, {"device", ceiling.device}};
  put_text(json, "scope", ceiling.scope);
  json["value"] = finite_number(ceiling.value);
  json["unit"] = ceiling.unit;
  put_text(json, "source", ceiling.source);
  if (ceiling.unreliable) json["unreliable"] = true;
  return json;
}

Json to_json(const Session& session) {
  Json json{{"schema", kResultsSchema}, {"id", session.id}, {"started", session.started}};
  put_text(json, "command", session.command);
  put_text(json, "commit", session.commit);
  put_text(json, "branch", session.branch);
  json["dirty"] = session.dirty;
  json["complete"] = session.complete;
  json["machine"] = to_json(session.machine);
  json["build"] = to_json(session.build);
  json["ceilings"] = Json::array();
  for (const auto& ceiling : session.ceilings) json["ceilings"].push_back(to_json(ceiling));
  json["runs"] = Json::array();
  for (const auto& run : session.runs) json["runs"].push_back(to_json(run));
  return json;
}

Result<Ceiling> ceiling_from_json(const Json& json) { return read_document<Ceiling>(json, read_ceiling); }

Result<Session> session_from_json(const Json& json) {
  if (json.is_object() && json.contains("schema") && json["schema"].is_string() && json["schema"] != kResultsSchema) {
    return data_error(
        "the schema is '" + json["schema"].get<std::string>() + "', but this version reads " + kResultsSchema,
        "use the version of warpmark that wrote it, or a newer one");
  }
  return read_document<Session>(json, read_session);
}

}  // namespace warpmark
