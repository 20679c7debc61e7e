#include "store/sessions_json.h"

#include <string>

#include "base/json.h"
#include "model/names.h"

namespace warpmark::store {

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
