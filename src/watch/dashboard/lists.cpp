// Sessions, runs and cases, page by page.
#include <algorithm>
#include <iterator>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "model/fields/fields.h"
#include "model/json/json.h"
#include "model/names.h"
#include "report/formats/html.h"
#include "validate/guard/series.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {
namespace {

constexpr std::size_t kMostSamples = 5000;

/// "<session>.<index>" of a `what`.
Result<std::pair<std::string, std::int64_t>> name_in_session(const std::string& text, const char* what) {
  const auto dot = text.rfind('.');
  const auto index = parse_integer(dot == std::string::npos ? "" : text.substr(dot + 1));
  if (!index.ok()) return usage_error("'" + text + "' names no " + what, "as in 20260301T120000-ab12.3");
  return std::pair(text.substr(0, dot), *index);
}

template <typename Entry>
std::string name_of_last(const std::vector<Entry>& entries) {
  return entries.back().session + "." + std::to_string(entries.back().index);
}

constexpr std::int64_t kShapePoints = 40;

/// Of the machine that measured the case last, the newest values since then.
Result<CaseRow> case_row(store::Store& store, const store::CaseEntry& entry, const std::string& since) {
  store::RunQuery wanted{.workload = entry.workload, .device = entry.device, .params = {}, .mode = entry.mode};
  wanted.case_params = entry.params;
  wanted.metric = entry.metric;
  wanted.limit = kShapePoints;
  WM_ASSIGN(const auto points, store.find(wanted));
  CaseRow row{.of = entry, .unit = points.empty() ? "" : points.front().unit, .values = {}};
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    const bool shown = point->n > 0 && point->fingerprint == points.front().fingerprint && point->started >= since;
    if (shown) row.values.push_back(point->median);
  }
  return row;
}

bool holds_all(const std::string& text, const std::vector<std::string>& words) {
  const std::string in = ascii_lower(text);
  return std::ranges::all_of(words, [&](const auto& word) { return in.find(word) != std::string::npos; });
}

/// Every k-th sample, so that at most kMostSamples are left.
void thin_out(Json& metric) {
  auto& samples = metric["samples"];
  if (samples.size() <= kMostSamples) return;
  const std::size_t step = (samples.size() + kMostSamples - 1) / kMostSamples;
  Json kept = Json::array();
  for (std::size_t i = 0; i < samples.size(); i += step) kept.push_back(samples[i]);
  samples = std::move(kept);
  metric["every"] = step;
}

}  // namespace

ShownReport shown_report(const Report& report) {
  return {report.title, report.subtitle, report::html_sections(report)};
}

Json report_answer(const ReportOf& report_of, const Json& document) {
  const auto report = report_of(document);
  ReportPage page;
  if (!report.ok()) page.problem = report.error().what;
  if (report.ok() && *report) page.report = shown_report(**report);
  return write(kReportPage, page);
}

Result<Json> sessions_answer(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"limit", "before", "host", "commit", "branch", "tag", "text"}));
  store::SessionQuery wanted{.hostname = query.get("host"), .fingerprint = {}, .commit = query.get("commit")};
  wanted.branch = query.get("branch");
  wanted.tag = query.get("tag");
  wanted.text = query.get("text");
  wanted.before = query.get("before");
  WM_ASSIGN(wanted.limit, query.count("limit", 50, 1, 500));
  SessionsPage page;
  WM_ASSIGN(page.rows, store.sessions(wanted));
  if (std::ssize(page.rows) == wanted.limit) page.next = page.rows.back().id;
  return write(kSessionsPage, page);
}

Result<Json> runs_answer(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"limit", "before", "session", "host", "commit", "workload", "device",
                                                  "outcome", "text"}));
  store::RunListQuery wanted{.session = query.get("session"),
                             .hostname = query.get("host"),
                             .commit = query.get("commit"),
                             .workload = query.get("workload"),
                             .device = query.get("device"),
                             .outcome = value_named<Outcome>(query.get("outcome")),
                             .text = query.get("text"),
                             .before = {}};
  if (!query.get("outcome").empty() && !wanted.outcome) {
    return usage_error("there is no outcome '" + query.get("outcome") + "'",
                       "there are passed, failed, unreliable, unsupported, skipped and error");
  }
  if (query.has("before")) {
    WM_ASSIGN(wanted.before, name_in_session(query.get("before"), "run"));
  }
  WM_ASSIGN(wanted.limit, query.count("limit", 100, 1, 1000));
  RunsPage page;
  WM_ASSIGN(page.rows, store.runs(wanted));
  if (std::ssize(page.rows) == wanted.limit) page.next = name_of_last(page.rows);
  return write(kRunsPage, page);
}

Result<Json> run_answer(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"session", "index"}));
  WM_ASSIGN(const auto index, query.count("index", 0, 0, 1'000'000'000));
  WM_ASSIGN(const auto run, store.run(query.get("session"), index));
  Json json{{"schema", "warpmark.run/1"}, {"session", query.get("session")}, {"run", warpmark::to_json(run)}};
  json["label"] = validate::case_label(run);
  json["params"] = to_text(run.params);
  if (json["run"].contains("metrics")) {
    for (auto& metric : json["run"]["metrics"]) thin_out(metric);
  }
  return json;
}

Result<Json> documents_answer(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"limit", "before", "kind", "session", "host"}));
  store::DocumentQuery wanted{
      .kind = query.get("kind"), .session = query.get("session"), .hostname = query.get("host"), .before = {}};
  if (query.has("before")) {
    WM_ASSIGN(wanted.before, name_in_session(query.get("before"), "document"));
  }
  WM_ASSIGN(wanted.limit, query.count("limit", 100, 1, 1000));
  DocumentsPage page;
  WM_ASSIGN(page.rows, store.documents(wanted));
  if (std::ssize(page.rows) == wanted.limit) page.next = name_of_last(page.rows);
  return write(kDocumentsPage, page);
}

Result<Json> stored_document(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"session", "index"}));
  WM_ASSIGN(const auto index, query.count("index", 0, 0, 1'000'000'000));
  WM_ASSIGN(const auto document, store.document(query.get("session"), index));
  return parse_json(document.text, "document " + query.get("session") + "." + std::to_string(index));
}

Result<Json> cases_answer(store::Store& store, const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"limit", "offset", "text", "days"}));
  WM_ASSIGN(const auto limit, query.count("limit", 100, 1, 1000));
  WM_ASSIGN(const auto offset, query.count("offset", 0, 0, 100'000'000));
  WM_ASSIGN(const auto cases, store.cases());
  constexpr double kDay = 86'400;
  WM_ASSIGN(const auto days, query.count("days", 0, 0, 100'000));
  const std::string since = days > 0 ? format_utc(wall_clock_s() - static_cast<double>(days) * kDay) : "";
  const auto words = split(ascii_lower(query.get("text")), ' ');
  CasesPage page;
  for (const auto& entry : cases) {
    if (entry.newest < since) break;  // the most recently measured come first
    const std::string label = validate::case_label(entry.workload, entry.params, entry.device, entry.mode);
    if (!holds_all(label + " " + entry.metric, words)) continue;
    if (page.total >= offset && page.total < offset + limit) {
      WM_ASSIGN(auto row, case_row(store, entry, since));
      page.cases.push_back(std::move(row));
    }
    ++page.total;
  }
  return write(kCasesPage, page);
}

}  // namespace warpmark::watch
