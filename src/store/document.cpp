#include "store/document.h"

#include "base/clock.h"
#include "base/json.h"
#include "model/names.h"

namespace warpmark::store {

Result<Document> document_of(const Json& report, const std::string& title) {
  constexpr std::string_view kOurs = "warpmark.";
  const auto named = report.is_object() ? report.value("schema", Json()) : Json();
  const std::string schema = named.is_string() ? named.get<std::string>() : "";
  const auto slash = schema.find('/');
  if (!schema.starts_with(kOurs) || slash == std::string::npos) {
    return internal_error("a report has no schema of ours: '" + schema + "'");
  }
  return Document{schema.substr(kOurs.size(), slash - kOurs.size()), format_utc(wall_clock_s()), title,
                  dump_json(report, -1)};
}

Status attach_report(Store& store, const std::string& session_id, const Json& report, const std::string& title) {
  WM_ASSIGN(const auto document, document_of(report, title));
  return store.attach(session_id, document);
}

Json to_json(const SessionSummary& session) {
  Json outcomes = Json::object();
  for (const auto& [outcome, count] : session.outcomes) outcomes[std::string(name_of(outcome))] = count;
  return {{"id", session.id},
          {"started", session.started},
          {"command", session.command},
          {"hostname", session.hostname},
          {"fingerprint", session.fingerprint},
          {"commit", session.commit},
          {"branch", session.branch},
          {"dirty", session.dirty},
          {"complete", session.complete},
          {"outcomes", std::move(outcomes)},
          {"tags", session.tags}};
}

Json sessions_json(const std::vector<SessionSummary>& sessions) {
  Json list = Json::array();
  for (const auto& session : sessions) list.push_back(to_json(session));
  return {{"schema", kSessionsSchema}, {"sessions", std::move(list)}};
}

}  // namespace warpmark::store
