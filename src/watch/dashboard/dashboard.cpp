#include "watch/dashboard/dashboard.h"

#include <utility>

#include "watch/dashboard/query.h"

namespace warpmark::watch {
namespace {

constexpr const char* kNothingHere = "nothing is here";

unsigned status_of(const Error& error) {
  if (error.what == kNothingHere) return 404;
  switch (error.kind) {
    case ErrorKind::usage: return 400;
    case ErrorKind::environment: return 503;
    case ErrorKind::data:
    case ErrorKind::unsupported: return 422;
    case ErrorKind::internal: return 500;
  }
  return 500;
}

Answer json_answer(const Result<Json>& json) {
  Answer answer{.type = "application/json", .body = {}};
  if (json.ok()) {
    answer.body = dump_json(*json, -1);
    return answer;
  }
  const Error& error = json.error();
  answer.status = status_of(error);
  answer.body = dump_json({{"error", {{"what", error.what}, {"hint", error.hint}}}}, -1);
  return answer;
}

using OfStore = Result<Json> (*)(store::Store& store, const std::string& query);
struct Route {
  const char* name;
  OfStore answer;
};
constexpr Route kRoutes[] = {
    {"sessions", sessions_answer},   {"runs", runs_answer},         {"run", run_answer},
    {"cases", cases_answer},         {"series", series_answer},     {"fleet", fleet_answer},
    {"documents", documents_answer}, {"document", stored_document},
};

/// Documents are files by their name, or those of stored sessions.
bool names_file(const std::string& query) {
  return query.starts_with("name=") || query.find("&name=") != std::string::npos;
}

}  // namespace

Result<Json> Dashboard::api(const std::string& name, const std::string& query) {
  if (name == "files") return files_.list(query);
  if (name == "document" && names_file(query)) return files_.document(query);
  if (name == "report") {
    WM_ASSIGN(const auto document, api("document", query));
    return report_answer(options_.report_of, document);
  }
  if (name == "profile") return files_.profile(query);
  if (name == "about") return Json{{"schema", "warpmark.about/1"}, {"about", options_.about}};
  const Route* route = nullptr;
  for (const auto& one : kRoutes) route = name == one.name ? &one : route;
  if (route == nullptr && name != "pair" && name != "changes") return usage_error(kNothingHere);
  if (name == "changes") WM_TRY(Query::parse(query, {}));
  return stores_.ask([&](store::Store& store) {
    if (name == "pair") return pair_answer(store, options_.compare, query);
    return route == nullptr ? changes_.answer(store) : route->answer(store, query);
  });
}

Answer Dashboard::answer(const Asked& asked) {
  constexpr std::string_view kApi = "/api/";
  if (asked.path.starts_with(kApi)) return json_answer(api(asked.path.substr(kApi.size()), asked.query));
  if (asked.path == "/events") return {.type = "text/event-stream", .events = true};
  if (asked.path == "/timeline.html") {
    const auto page = files_.timeline_page(asked.query);
    if (!page.ok()) return json_answer(page.error());
    return {.type = "text/html; charset=utf-8", .body = *page, .policy = kPagePolicy};
  }
  const std::string name = asked.path == "/" ? "index.html" : asked.path.substr(1);
  for (const auto& file : page_files()) {
    if (file.name == name) return {.type = file.type, .body = file.text, .policy = kPagePolicy};
  }
  return {.status = 404, .body = "nothing is here; the pages are at /\n"};
}

std::unique_ptr<store::Store> Stores::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto store = std::move(idle_.back());
  idle_.pop_back();
  return store;
}

void Stores::keep(std::unique_ptr<store::Store> store) {
  if (!keeps_) return;
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(store));
}

Result<Json> Stores::ask(const std::function<Result<Json>(store::Store&)>& question) {
  if (auto kept = take()) {
    auto answer = question(*kept);
    if (answer.ok()) keep(std::move(kept));
    // The server may have restarted since: ask again over a new connection.
    if (answer.ok() || answer.error().kind != ErrorKind::environment) return answer;
  }
  WM_ASSIGN(auto store, open_());
  auto answer = question(*store);
  if (answer.ok()) keep(std::move(store));
  return answer;
}

}  // namespace warpmark::watch
