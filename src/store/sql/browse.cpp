#include "store/sql/sql_store.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "base/untrusted/input.h"
#include "model/names.h"
#include "store/location.h"
#include "store/lookup.h"
#include "store/payload.h"

namespace warpmark::store {
namespace {

struct Where {
  std::string sql;
  SqlValues values;

  void add(const char* condition, const std::string& value) {
    if (value.empty()) return;
    sql += condition;
    values.emplace_back(value);
  }
};

/// Of runs: cases are chosen first, as they are few, and runs then by their keys.
Where of_cases(const RunListQuery& query) {
  Where where;
  where.add(" AND c.workload = ?", query.workload);
  where.add(" AND c.device = ?", query.device);
  for (const auto& word : split(query.text, ' ')) {
    if (word.empty()) continue;
    where.add(" AND lower(c.workload || ' ' || c.params || ' ' || c.device || ' ' || c.mode) LIKE lower(?) ESCAPE '!'",
              holds_pattern(word));
  }
  return where;
}

Where of_runs(const RunListQuery& query) {
  Where where;
  where.add(" AND r.session = (SELECT key FROM sessions WHERE id = ?)", query.session);
  where.add(" AND s.hostname = ?", query.hostname);
  where.add(kCommitBeginsWith, query.commit);
  if (!query.commit.empty()) where.values.emplace_back(query.commit);
  if (query.outcome) where.add(" AND r.outcome = ?", name_of(*query.outcome));
  if (query.before) {
    where.sql +=
        " AND (r.started, r.key) < (SELECT b.started, b.key FROM runs b JOIN sessions t ON t.key = b.session "
        "WHERE t.id = ? AND b.position = ?)";
    where.values.emplace_back(query.before->first);
    where.values.emplace_back(query.before->second);
  }
  return where;
}

Status read_entry(const Row& row, RunPoint& point) {
  point.session = row.text(0);
  point.index = row.integer(1);
  point.started = row.text(2);
  point.session_started = row.text(3);
  point.commit = row.text(4);
  point.branch = row.text(5);
  point.dirty = row.integer(6) != 0;
  point.hostname = row.text(7);
  point.fingerprint = row.text(8);
  point.workload = row.text(9);
  point.params = row.text(10);
  point.device = row.text(11);
  const auto mode = value_named<Mode>(row.text(12));
  const auto outcome = value_named<Outcome>(row.text(13));
  if (!mode || !outcome) {
    return data_error("run " + point.session + "." + std::to_string(point.index) +
                      " has an unknown mode or outcome: " + row.text(12) + ", " + row.text(13));
  }
  point.mode = *mode;
  point.outcome = *outcome;
  point.metric = row.text(14);
  if (row.null(15)) return {};
  point.unit = row.text(15);
  const auto better = value_named<Better>(row.text(16));
  if (!better) return data_error("run " + point.session + " has an unknown direction: " + row.text(16));
  point.better = *better;
  point.n = row.integer(17);
  point.median = row.number(18);
  if (!row.null(19)) point.interval = Interval{row.number(19), row.number(20), row.number(21)};
  return {};
}

}  // namespace

std::string holds_pattern(const std::string& text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '!') pattern += '!';
    pattern += c;
  }
  return pattern + "%";
}

Result<std::vector<RunPoint>> list_runs(SqlDatabase& database, const RunListQuery& query) {
  if (query.limit <= 0) return std::vector<RunPoint>();
  const Where cases = of_cases(query), runs = of_runs(query);
  const std::string join = std::string(" ") + database.dialect().cross_join + " ";
  // The newest are chosen before their values are looked up: those of all runs of one start would be, else.
  std::string newest =
      "SELECT s.id, r.position, r.started, s.started AS session_started, s.commit_id, s.branch, s.dirty, s.hostname, "
      "s.fingerprint, c.workload, c.params, c.device, c.mode, r.outcome, c.metric, r.case_key, r.key FROM runs r" +
      join + "cases c ON c.key = r.case_key" + join + "sessions s ON s.key = r.session WHERE TRUE" + runs.sql;
  if (!cases.sql.empty()) newest += " AND r.case_key IN (SELECT c.key FROM cases c WHERE TRUE" + cases.sql + ")";
  newest += " ORDER BY r.started DESC, r.key DESC LIMIT ?";
  const std::string sql =
      "SELECT x.id, x.position, x.started, x.session_started, x.commit_id, x.branch, x.dirty, x.hostname, "
      "x.fingerprint, x.workload, x.params, x.device, x.mode, x.outcome, x.metric, p.unit, p.better, p.n, p.median, "
      "p.ci_low, p.ci_high, p.ci_confidence FROM (" +
      newest +
      ") x LEFT JOIN points p ON p.case_key = x.case_key AND p.metric = x.metric AND p.started = x.started AND p.run = "
      "x.key ORDER BY x.started DESC, x.key DESC";
  SqlValues values = runs.values;
  values.insert(values.end(), cases.values.begin(), cases.values.end());
  values.emplace_back(query.limit);
  std::vector<RunPoint> found;
  WM_TRY(database.each(sql, values, [&](const Row& row) { return read_entry(row, found.emplace_back()); }));
  return found;
}

Result<Run> load_run(SqlDatabase& database, const std::string& session_id, std::int64_t index) {
  std::optional<Run> run;
  WM_TRY(
      database.each("SELECT p.document, p.samples FROM sessions s JOIN runs r ON r.session = s.key JOIN payloads p ON "
                    "p.run = r.key WHERE s.id = ? AND r.position = ?",
                    {session_id, index}, [&](const Row& row) -> Status {
                      const std::string name = "run " + session_id + "." + std::to_string(index);
                      WM_ASSIGN(run, run_from_payload(row.text(0), row.bytes(1), name));
                      return {};
                    }));
  if (!run) return no_such_run(session_id, index);
  return std::move(*run);
}

Result<std::vector<CaseEntry>> list_cases(SqlDatabase& database) {
  std::vector<CaseEntry> found;
  WM_TRY(database.each(
      "SELECT c.workload, c.params, c.device, c.mode, c.metric, (SELECT max(p.started) FROM points p WHERE "
      "p.case_key = c.key AND p.metric = c.metric) AS newest FROM cases c ORDER BY newest DESC, c.key",
      {}, [&](const Row& row) -> Status {
        if (row.null(5)) return {};
        const auto mode = value_named<Mode>(row.text(3));
        if (!mode) return data_error("a case has an unknown mode: " + row.text(3));
        found.push_back({row.text(0), row.text(1), row.text(2), *mode, row.text(4), row.text(5)});
        return {};
      }));
  return found;
}

Result<std::vector<HostEntry>> list_hosts(SqlDatabase& database) {
  std::vector<HostEntry> found;
  WM_TRY(
      database.each("SELECT g.hostname, g.fingerprint, g.sessions, g.newest, (SELECT max(s.id) FROM sessions s WHERE "
                    "s.started = g.newest AND s.hostname = g.hostname AND s.fingerprint = g.fingerprint) FROM "
                    "(SELECT hostname, fingerprint, count(*) AS sessions, max(started) AS newest FROM sessions "
                    "GROUP BY hostname, fingerprint) g ORDER BY g.hostname, g.newest DESC",
                    {}, [&](const Row& row) {
                      found.push_back({row.text(0), row.text(1), row.integer(2), row.text(3), row.text(4)});
                      return Status();
                    }));
  return found;
}

Status attach_document(SqlDatabase& database, const std::string& session_id, const Document& document) {
  const std::string text = hide_password(document.text);
  WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
  WM_ASSIGN(const auto session, database.integer("SELECT key FROM sessions WHERE id = ?", {session_id}));
  if (session == 0) return not_begun(session_id);
  WM_ASSIGN(const auto same,
            database.integer("SELECT count(*) FROM documents WHERE session = ? AND document = ?", {session, text}));
  if (same > 0) return {};
  // Documents of a session only go all together, so that their number is the next one's position.
  WM_ASSIGN(const auto position, database.integer("SELECT count(*) FROM documents WHERE session = ?", {session}));
  WM_TRY(
      database.run("INSERT INTO documents (session, position, kind, made, title, bytes, document) VALUES "
                   "(?, ?, ?, ?, ?, ?, ?)",
                   {session, position, document.kind, document.made, hide_password(document.title),
                    static_cast<std::int64_t>(text.size()), text}));
  return transaction.commit();
}

Result<std::vector<DocumentEntry>> list_documents(SqlDatabase& database, const DocumentQuery& query) {
  std::string sql =
      "SELECT s.id, d.position, d.kind, d.made, d.title, s.hostname, s.command, d.bytes FROM documents d JOIN "
      "sessions s ON s.key = d.session WHERE TRUE";
  SqlValues values;
  const std::pair<const char*, const std::string*> conditions[] = {
      {" AND d.kind = ?", &query.kind}, {" AND s.id = ?", &query.session}, {" AND s.hostname = ?", &query.hostname}};
  for (const auto& [condition, wanted] : conditions) {
    if (wanted->empty()) continue;
    sql += condition;
    values.emplace_back(*wanted);
  }
  if (query.before) {
    sql +=
        " AND (d.made, d.key) < (SELECT b.made, b.key FROM documents b JOIN sessions t ON t.key = b.session WHERE "
        "t.id = ? AND b.position = ?)";
    values.emplace_back(query.before->first);
    values.emplace_back(query.before->second);
  }
  values.emplace_back(query.limit);
  std::vector<DocumentEntry> found;
  WM_TRY(database.each(sql + " ORDER BY d.made DESC, d.key DESC LIMIT ?", values, [&](const Row& row) {
    found.push_back(
        {row.text(0), row.integer(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.integer(7)});
    return Status();
  }));
  return found;
}

Result<Document> load_document(SqlDatabase& database, const std::string& session_id, std::int64_t index) {
  std::optional<Document> found;
  WM_TRY(
      database.each("SELECT d.kind, d.made, d.title, d.document FROM sessions s JOIN documents d ON d.session = s.key "
                    "WHERE s.id = ? AND d.position = ?",
                    {session_id, index}, [&](const Row& row) {
                      found = {row.text(0), row.text(1), row.text(2), row.text(3)};
                      return Status();
                    }));
  if (!found) return no_such_document(session_id, index);
  return std::move(*found);
}

}  // namespace warpmark::store
