// Two stored sessions set against each other.
#include "base/json.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {

Result<Json> pair_answer(store::Store& store, const CompareSessions& compare, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"a", "b"}));
  if (query.get("a").empty() || query.get("b").empty()) {
    return usage_error("two sessions are compared", "?a=ID&b=ID");
  }
  WM_ASSIGN(const auto a, store.load(query.get("a")));
  WM_ASSIGN(const auto b, store.load(query.get("b")));
  std::vector<std::string> not_compared;
  WM_ASSIGN(const auto comparison, compare(a.session, b.session, not_compared));
  const auto header = [](const Session& session) {
    return Json{{"id", session.id},         {"started", session.started}, {"commit", session.commit},
                {"branch", session.branch}, {"dirty", session.dirty},     {"hostname", session.machine.hostname}};
  };
  return Json{{"schema", "warpmark.pair/1"},
              {"a", header(a.session)},
              {"b", header(b.session)},
              {"not_compared", not_compared},
              {"verdict", name_of(overall(comparison))},
              {"comparison", warpmark::to_json(comparison)}};
}

}  // namespace warpmark::watch
