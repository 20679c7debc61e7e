#include "store/sqlite/sqlite_store.h"

#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "model/json.h"
#include "model/names.h"
#include "store/lookup.h"
#include "store/payload.h"
#include "store/sqlite/run_query.h"
#include "store/sqlite/schema.h"

namespace warpmark::store {
namespace {

using Kind = Transaction::Kind;

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(Database database) : database_(std::move(database)) {}

  Status begin(const Session& header) override;
  Status append_round(const std::string& session_id, const Run& partial, std::int64_t round) override;
  Status append_run(const std::string& session_id, const Run& run) override {
    return append_runs(session_id, std::span(&run, 1));
  }
  Status append_runs(const std::string& session_id, std::span<const Run> runs) override;
  Status finish(const std::string& session_id, std::span<const Ceiling> ceilings) override;
  Result<std::vector<SessionSummary>> sessions(const SessionQuery& query) override;
  Result<StoredSession> load(const std::string& id) override;
  Result<std::vector<RunPoint>> find(const RunQuery& query) override { return find_points(database_, query); }

 private:
  struct Begun {
    std::int64_t key = 0;
    std::string started;
  };
  struct RunRow {
    std::int64_t key = 0;
    std::int64_t session = 0;
    std::int64_t case_key = 0;
    std::string started;
  };
  Result<Begun> begun(const std::string& session_id);
  Result<bool> has_run(std::int64_t session, std::int64_t index);
  Result<std::int64_t> case_key_of(const Run& run);
  Status insert_run(const Begun& session, const Run& run);
  Status insert_points(const RunRow& row, const Run& run);
  Result<std::string> choose(const std::string& typed);
  Status count_runs(std::int64_t session, SessionSummary& summary);
  Status load_runs(std::int64_t session, StoredSession& stored);

  Database database_;
};

std::string number_of(std::int64_t index) { return std::to_string(index); }

Status SqliteStore::begin(const Session& header) {
  Session bare = header;
  bare.runs.clear();
  bare.ceilings.clear();
  bare.complete = false;
  WM_ASSIGN(auto transaction, Transaction::begin(database_, Kind::write));
  WM_ASSIGN(const auto known, database_.integer("SELECT count(*) FROM sessions WHERE id = ?", {header.id}));
  if (known > 0) return internal_error("session '" + header.id + "' is already stored");
  WM_TRY(
      database_.run("INSERT INTO sessions (id, started, command, hostname, fingerprint, commit_id, branch, dirty, "
                    "document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    {header.id, header.started, header.command, header.machine.hostname, header.machine.fingerprint,
                     header.commit, header.branch, std::int64_t{header.dirty}, dump_json(to_json(bare), -1)}));
  return transaction.commit();
}

Status SqliteStore::append_round(const std::string& session_id, const Run& partial, std::int64_t round) {
  const Payload payload = to_payload(partial);
  WM_ASSIGN(auto transaction, Transaction::begin(database_, Kind::write));
  WM_ASSIGN(const auto session, begun(session_id));
  WM_ASSIGN(const bool merged, has_run(session.key, partial.index));
  WM_ASSIGN(const auto known,
            database_.integer("SELECT count(*) FROM rounds WHERE session = ? AND position = ? AND round = ?",
                              {session.key, partial.index, round}));
  if (merged || known > 0) {
    return internal_error("round " + number_of(round) + " of run " + number_of(partial.index) + " is already stored");
  }
  WM_TRY(database_.run("INSERT INTO rounds (session, position, round, document, samples) VALUES (?, ?, ?, ?, ?)",
                       {session.key, partial.index, round, payload.document, Blob{payload.samples}}));
  return transaction.commit();
}

Status SqliteStore::append_runs(const std::string& session_id, std::span<const Run> runs) {
  WM_ASSIGN(auto transaction, Transaction::begin(database_, Kind::write));
  WM_ASSIGN(const auto session, begun(session_id));
  for (const Run& run : runs) {
    WM_ASSIGN(const bool known, has_run(session.key, run.index));
    if (known) {
      return internal_error("run " + number_of(run.index) + " of session '" + session_id + "' is already stored");
    }
    WM_TRY(insert_run(session, run));
  }
  return transaction.commit();
}

Status SqliteStore::insert_run(const Begun& session, const Run& run) {
  const Payload payload = to_payload(run);
  RunRow row{0, session.key, 0, run.started.empty() ? session.started : run.started};
  WM_ASSIGN(row.case_key, case_key_of(run));
  WM_TRY(database_.run("INSERT INTO runs (session, position, case_key, started, outcome) VALUES (?, ?, ?, ?, ?)",
                       {row.session, run.index, row.case_key, row.started, name_of(run.outcome)}));
  row.key = database_.last_key();
  WM_TRY(database_.run("INSERT INTO payloads (run, document, samples) VALUES (?, ?, ?)",
                       {row.key, payload.document, Blob{payload.samples}}));
  WM_TRY(insert_points(row, run));
  return database_.run("DELETE FROM rounds WHERE session = ? AND position = ?", {session.key, run.index});
}

Status SqliteStore::finish(const std::string& session_id, std::span<const Ceiling> ceilings) {
  Json document = Json::array();
  for (const auto& ceiling : ceilings) document.push_back(to_json(ceiling));
  WM_ASSIGN(auto transaction, Transaction::begin(database_, Kind::write));
  WM_ASSIGN(const auto session, begun(session_id));
  WM_ASSIGN(const auto known, database_.integer("SELECT count(*) FROM finishes WHERE session = ?", {session.key}));
  if (known > 0) return internal_error("session '" + session_id + "' is already finished");
  WM_TRY(
      database_.run("INSERT INTO finishes (session, document) VALUES (?, ?)", {session.key, dump_json(document, -1)}));
  return transaction.commit();
}

Result<std::vector<SessionSummary>> SqliteStore::sessions(const SessionQuery& query) {
  std::string sql =
      "SELECT s.key, s.id, s.started, s.command, s.hostname, s.fingerprint, s.commit_id, s.branch, s.dirty, "
      "f.session IS NOT NULL FROM sessions s LEFT JOIN finishes f ON f.session = s.key WHERE 1";
  SqlValues values;
  const auto filter = [&](const char* condition, const std::string& value) {
    if (value.empty()) return;
    sql += condition;
    values.emplace_back(value);
  };
  filter(" AND s.hostname = ?", query.hostname);
  filter(" AND s.fingerprint = ?", query.fingerprint);
  filter(kCommitBeginsWith, query.commit);
  sql += " ORDER BY s.started DESC, s.key DESC LIMIT ?";
  values.emplace_back(query.limit);

  WM_ASSIGN(auto transaction, Transaction::begin(database_, Kind::read));
  std::vector<SessionSummary> found;
  WM_TRY(database_.each(sql, values, [&](const Row& row) {
    auto& summary = found.emplace_back();
    summary.id = row.text(1);
    summary.started = row.text(2);
    summary.command = row.text(3);
    summary.hostname = row.text(4);
    summary.fingerprint = row.text(5);
    summary.commit = row.text(6);
    summary.branch = row.text(7);
    summary.dirty = row.integer(8) != 0;
    summary.complete = row.integer(9) != 0;
    return count_runs(row.integer(0), summary);
  }));
  WM_TRY(transaction.commit());
  return found;
}

Status SqliteStore::count_runs(std::int64_t session, SessionSummary& summary) {
  WM_TRY(database_.each("SELECT outcome, count(*) FROM runs WHERE session = ? GROUP BY outcome", {session},
                        [&](const Row& row) {
                          const auto outcome = outcome_from(row.text(0));
                          if (!outcome) return Status(data_error("unknown outcome '" + row.text(0) + "'"));
                          summary.outcomes[*outcome] = row.integer(1);
                          return Status();
                        }));
  WM_ASSIGN(summary.unmerged_rounds, database_.integer("SELECT count(*) FROM rounds WHERE session = ?", {session}));
  return {};
}

Result<StoredSession> SqliteStore::load(const std::string& id) {
  WM_ASSIGN(auto transaction, Transaction::begin(database_, Kind::read));
  WM_ASSIGN(const std::string chosen, choose(id));
  const std::string name = "session " + chosen;
  std::int64_t key = 0;
  std::string header, finish;
  WM_TRY(
      database_.each("SELECT s.key, s.document, f.document FROM sessions s LEFT JOIN finishes f ON f.session = s.key "
                     "WHERE s.id = ?",
                     {chosen}, [&](const Row& row) {
                       key = row.integer(0);
                       header = row.text(1);
                       finish = row.text(2);
                       return Status();
                     }));
  WM_ASSIGN(const Json header_json, parse_json(header, name));
  StoredSession stored;
  WM_ASSIGN(stored.session, session_from_json(header_json));
  stored.session.complete = !finish.empty();
  if (stored.session.complete) {
    WM_ASSIGN(const Json ceilings, parse_json(finish, name));
    for (const auto& item : ceilings) {
      WM_ASSIGN(auto ceiling, ceiling_from_json(item));
      stored.session.ceilings.push_back(std::move(ceiling));
    }
  }
  WM_TRY(load_runs(key, stored));
  WM_TRY(transaction.commit());
  return stored;
}

Status SqliteStore::load_runs(std::int64_t session, StoredSession& stored) {
  const auto append_to = [&](std::vector<Run>& runs) {
    return [&](const Row& row) -> Status {
      const std::string name = "run " + stored.session.id + "." + number_of(row.integer(0));
      WM_ASSIGN(auto run, run_from_payload(row.text(1), row.bytes(2), name));
      runs.push_back(std::move(run));
      return {};
    };
  };
  WM_TRY(
      database_.each("SELECT r.position, p.document, p.samples FROM runs r JOIN payloads p ON p.run = r.key "
                     "WHERE r.session = ? ORDER BY r.position",
                     {session}, append_to(stored.session.runs)));
  return database_.each("SELECT position, document, samples FROM rounds WHERE session = ? ORDER BY position, round",
                        {session}, append_to(stored.unmerged_rounds));
}

Result<std::string> SqliteStore::choose(const std::string& typed) {
  std::vector<std::string> matches, newest;
  const auto append_to = [](std::vector<std::string>& ids) {
    return [&](const Row& row) {
      ids.push_back(row.text(0));
      return Status();
    };
  };
  WM_TRY(database_.each("SELECT id FROM sessions ORDER BY started DESC, key DESC LIMIT 1", {}, append_to(newest)));
  // An exact id comes first, so that it is found however many longer ones begin with it.
  WM_TRY(
      database_.each("SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) "
                     "ORDER BY id = ?1 DESC, started DESC, key DESC LIMIT ?2",
                     {typed, static_cast<std::int64_t>(kShownMatches + 1)}, append_to(matches)));
  return choose_session(typed, matches, newest.empty() ? "" : newest.front());
}

Result<SqliteStore::Begun> SqliteStore::begun(const std::string& session_id) {
  Begun session;
  WM_TRY(database_.each("SELECT key, started FROM sessions WHERE id = ?", {session_id}, [&](const Row& row) {
    session = {row.integer(0), row.text(1)};
    return Status();
  }));
  if (session.key == 0) return internal_error("session '" + session_id + "' was not begun");
  return session;
}

Result<bool> SqliteStore::has_run(std::int64_t session, std::int64_t index) {
  WM_ASSIGN(const auto count,
            database_.integer("SELECT count(*) FROM runs WHERE session = ? AND position = ?", {session, index}));
  return count > 0;
}

Result<std::int64_t> SqliteStore::case_key_of(const Run& run) {
  const SqlValues identity = {run.workload, run.device, name_of(run.mode), to_text(run.params),
                              run.metrics.empty() ? "" : run.metrics.front().id};
  WM_ASSIGN(const auto known, database_.integer("SELECT key FROM cases WHERE workload = ? AND device = ? AND mode = ? "
                                                "AND params = ? AND metric = ?",
                                                identity));
  if (known != 0) return known;
  WM_TRY(database_.run("INSERT INTO cases (workload, device, mode, params, metric) VALUES (?, ?, ?, ?, ?)", identity));
  const std::int64_t key = database_.last_key();
  for (const auto& [name, value] : run.params.items()) {
    WM_TRY(
        database_.run("INSERT INTO case_params (case_key, name, value) VALUES (?, ?, ?)", {key, name, to_text(value)}));
  }
  return key;
}

Status SqliteStore::insert_points(const RunRow& row, const Run& run) {
  if (run.outcome == Outcome::failed) return {};  // a wrong result has no speed
  for (const Metric& metric : run.metrics) {
    const Summary& summary = metric.summary;
    if (summary.n == 0 || !std::isfinite(summary.median)) continue;  // nothing to put in a series
    const auto bound = [&](double Interval::*part) {
      return summary.median_interval ? SqlValue((*summary.median_interval).*part) : SqlValue(nullptr);
    };
    WM_TRY(
        database_.run("INSERT INTO points (case_key, metric, started, run, session, position, outcome, unit, better, "
                      "n, median, ci_low, ci_high, ci_confidence) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      {row.case_key, metric.id, row.started, row.key, row.session, run.index, name_of(run.outcome),
                       metric.unit, name_of(metric.better), summary.n, summary.median, bound(&Interval::low),
                       bound(&Interval::high), bound(&Interval::confidence)}));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, const DatabaseOptions& options) {
  WM_ASSIGN(auto database, Database::open(path, options));
  WM_TRY(migrate(database, migrations()));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(std::move(database)));
}

}  // namespace warpmark::store
