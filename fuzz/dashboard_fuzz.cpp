// Questions to the dashboard over a store that holds anything as a document: the first line is the question
// ("fleet?", "documents?kind=a"), the rest the document. Whatever is asked and stored, an answer is JSON or an error.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "support/memory_store.h"
#include "watch/dashboard/dashboard.h"

namespace {

using namespace warpmark;

std::unique_ptr<store::Store> store_with(std::string_view document) {
  auto made = store::make_memory_store();
  Session session;
  session.id = "s1";
  session.started = "2026-01-01T00:00:00Z";
  session.command = "warpmark accept mine.yaml";
  session.machine.hostname = "node1";
  WM_CHECK(made->begin(session).ok());
  WM_CHECK(made->attach("s1", {"acceptance", "2026-01-02T00:00:00Z", "title", std::string(document)}).ok());
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto line = std::min(bytes.find('\n'), bytes.size());
  const auto mark = std::min(bytes.find('?'), line);
  const std::string_view document = bytes.substr(std::min(line + 1, bytes.size()));
  warpmark::watch::DashboardOptions options;
  options.open_store = [&]() -> Result<std::unique_ptr<store::Store>> { return store_with(document); };
  options.compare = [](store::Store& store, const std::string& a,
                       const std::string& b) -> Result<watch::ComparedSessions> {
    WM_ASSIGN(const auto first, store.load(a));
    WM_ASSIGN(const auto second, store.load(b));
    return watch::ComparedSessions{first.session, second.session, {.name_a = a, .name_b = b}, {}};
  };
  warpmark::watch::Dashboard dashboard(options);
  const std::string name(bytes.substr(0, mark)), query(bytes.substr(0, line).substr(std::min(mark + 1, line)));
  const auto answer = dashboard.answer({.path = "/api/" + name, .accept = {}, .query = query});
  WM_CHECK(answer.type == "application/json");
  WM_CHECK(parse_json(answer.body, "answer").ok());
  WM_CHECK(answer.status == 200 || parse_json(answer.body, "answer")->contains("error"));
  const auto fleet = dashboard.answer({.path = "/api/fleet", .accept = {}, .query = {}});
  WM_CHECK(fleet.status == 200);
  return 0;
}
