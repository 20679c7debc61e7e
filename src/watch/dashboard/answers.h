// What the dashboard's API answers, as JSON. Each takes the query of the request as sent; the documents are in
// docs/schema under the name that they carry. Usage error for a query that cannot be answered; errors of the store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/report.h"
#include "model/trend.h"
#include "store/store.h"
#include "watch/dashboard/documents.h"

namespace warpmark::watch {

/// "warpmark.sessions/1": limit (1..500, 50), before (id of the last session seen), host, commit, branch, tag, text.
[[nodiscard]] Result<Json> sessions_answer(store::Store& store, const std::string& query);
/// "warpmark.runs/1": limit (1..1000, 100), before ("<session>.<index>" of the last run seen), session, host, commit,
/// workload, device, outcome, text.
[[nodiscard]] Result<Json> runs_answer(store::Store& store, const std::string& query);
/// "warpmark.run/1": session, index. Of a metric with more than 5000 samples every k-th.
[[nodiscard]] Result<Json> run_answer(store::Store& store, const std::string& query);
/// "warpmark.documents/1": limit (1..1000, 100), before ("<session>.<index>" of the last document seen), kind, session,
/// host.
[[nodiscard]] Result<Json> documents_answer(store::Store& store, const std::string& query);
/// The document itself: session, index.
[[nodiscard]] Result<Json> stored_document(store::Store& store, const std::string& query);
/// Of a document; nothing for one that has no report. Data error naming what is missing in it.
using ReportOf = std::function<Result<std::optional<Report>>(const Json& document)>;
struct ReportPage {
  std::optional<ShownReport> report;
  std::optional<std::string> problem;
};
extern const RecordOf<ReportPage> kReportPage;
/// "warpmark.report/1": shown_report of a document; of one without a report only why, if it is broken.
[[nodiscard]] Json report_answer(const ReportOf& report_of, const Json& document);
/// "warpmark.cases/1": limit (1..1000, 200), offset, text (words that must all be in the label or metric).
[[nodiscard]] Result<Json> cases_answer(store::Store& store, const std::string& query);
/// "warpmark.series/1": workload, params, device, mode, metric (all of a case), last (newest points, 2..20000, 200),
/// points (drawn at most, 50..5000, 500), threshold (of marked changes, in percent, 1..100, 5). More points than are
/// drawn come as buckets with their least and largest value.
[[nodiscard]] Result<Json> series_answer(store::Store& store, const std::string& query);

/// Two stored sessions and their comparison.
struct ComparedSessions {
  Session a, b;
  Comparison comparison;
  std::vector<std::string> not_compared;  ///< cases that only one of them has
};
/// `a` and `b` name sessions: an id, a tag, "last".
using CompareSessions =
    std::function<Result<ComparedSessions>(store::Store& store, const std::string& a, const std::string& b)>;
/// "warpmark.pair/1": a, b.
[[nodiscard]] Result<Json> pair_answer(store::Store& store, const CompareSessions& compare, const std::string& query);

/// "warpmark.fleet/1": no query. Hosts with their newest session, the newest acceptance of each, and the outliers among
/// those that ran the same command.
[[nodiscard]] Result<Json> fleet_answer(store::Store& store, const std::string& query);

[[nodiscard]] LevelChange level_change(const TrendSeries& series, const TrendChange& change);
[[nodiscard]] ShownReport shown_report(const Report& report);

}  // namespace warpmark::watch
