// A comparison of two stored sessions.
#include "base/json.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {

Result<Json> pair_answer(store::Store& store, const CompareSessions& compare, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"a", "b"}));
  if (query.get("a").empty() || query.get("b").empty()) {
    return usage_error("two sessions are compared", "?a=ID&b=ID");
  }
  WM_ASSIGN(const auto pair, compare(store, query.get("a"), query.get("b")));
  const auto header = [](const Session& session) {
    return Json{{"id", session.id},         {"started", session.started}, {"commit", session.commit},
                {"branch", session.branch}, {"dirty", session.dirty},     {"hostname", session.machine.hostname}};
  };
  return Json{{"schema", "warpmark.pair/1"},
              {"a", header(pair.a)},
              {"b", header(pair.b)},
              {"not_compared", pair.not_compared},
              {"verdict", name_of(overall(pair.comparison))},
              {"comparison", warpmark::to_json(pair.comparison)}};
}

}  // namespace warpmark::watch
