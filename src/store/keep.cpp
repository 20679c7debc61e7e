#include "store/keep.h"

#include <algorithm>
#include <map>
#include <optional>

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

namespace {

bool same_metric(const Metric& a, const Metric& b) {
  return a.id == b.id && a.unit == b.unit && a.samples == b.samples;
}

/// The same results, whatever else a newer version notes of them.
bool same_results(const Run& a, const Run& b) {
  return a.workload == b.workload && a.params == b.params && a.device == b.device && a.mode == b.mode &&
         a.outcome == b.outcome &&
         std::equal(a.metrics.begin(), a.metrics.end(), b.metrics.begin(), b.metrics.end(), same_metric);
}

/// The stored session with exactly this id.
Result<std::optional<StoredSession>> stored_as(Store& store, const std::string& id) {
  auto stored = store.load(id);
  if (stored.ok() && stored->session.id == id) return std::optional<StoredSession>(std::move(stored).value());
  if (!stored.ok() && stored.error().kind != ErrorKind::usage) return stored.error();
  return std::optional<StoredSession>();
}

/// Runs of the session that are not stored; data error if a stored one differs.
Result<std::vector<const Run*>> missing_runs(const StoredSession& stored, const Session& session) {
  const Session& there = stored.session;
  std::map<std::int64_t, const Run*> known;
  for (const Run& run : there.runs) known.emplace(run.index, &run);
  bool differs = there.commit != session.commit || there.machine.fingerprint != session.machine.fingerprint;
  std::vector<const Run*> missing;
  for (const Run& run : session.runs) {
    const auto found = known.find(run.index);
    if (found == known.end()) {
      missing.push_back(&run);
    } else {
      differs = differs || !same_results(*found->second, run);
    }
  }
  if (differs || (there.complete && !missing.empty())) {
    return data_error("session " + session.id + " is stored already, with other results",
                      "a session is never rewritten; 'warpmark history show " + session.id + "' shows the stored one");
  }
  return missing;
}

/// One attempt. Another process may take steps of it before us, which fails with an internal error.
Result<KeptSession> try_to_keep(Store& store, const Session& session, std::size_t batch) {
  WM_ASSIGN(auto stored, stored_as(store, session.id));
  if (!stored) {
    WM_TRY(store.begin(session));
    stored.emplace();
    stored->session.commit = session.commit;
    stored->session.machine.fingerprint = session.machine.fingerprint;
    stored->session.complete = false;
  }
  WM_ASSIGN(const auto missing, missing_runs(*stored, session));
  std::vector<Run> runs;
  for (std::size_t at = 0; at < missing.size(); at += batch) {
    runs.clear();
    for (std::size_t i = at; i < std::min(at + batch, missing.size()); ++i) runs.push_back(*missing[i]);
    WM_TRY(store.append_runs(session.id, runs));
  }
  if (session.complete && !stored->session.complete) WM_TRY(store.finish(session.id, session.ceilings));
  const auto added = static_cast<std::int64_t>(missing.size());
  return KeptSession{added, static_cast<std::int64_t>(session.runs.size()) - added};
}

}  // namespace

Result<KeptSession> keep_session(Store& store, const Session& session, std::size_t batch) {
  constexpr int kAttempts = 100;
  auto kept = try_to_keep(store, session, batch);
  for (int attempt = 1; attempt < kAttempts && !kept.ok() && kept.error().kind == ErrorKind::internal; ++attempt) {
    kept = try_to_keep(store, session, batch);
  }
  return kept;
}

}  // namespace warpmark::store
