#include "store/sql/sql_database.h"

#include <utility>

namespace warpmark::store {

Status SqlDatabase::run(const std::string& sql, const SqlValues& values) {
  return each(sql, values, [](const Row&) { return Status(); });
}

Result<std::int64_t> SqlDatabase::integer(const std::string& sql, const SqlValues& values) {
  std::int64_t first = 0;
  bool found = false;
  WM_TRY(each(sql, values, [&](const Row& row) {
    if (!std::exchange(found, true)) first = row.integer(0);
    return Status();
  }));
  return first;
}

Result<Transaction> Transaction::begin(SqlDatabase& database, Kind kind) {
  WM_TRY(database.begin(kind));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  // Some errors (a full disk) have rolled back already; then this one says so, and nothing is lost by ignoring it.
  static_cast<void>(database_->run("ROLLBACK").ok());
}

Status Transaction::commit() {
  WM_TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

namespace {

// Sessions and runs have what queries filter by in columns, everything else in their JSON document. Payloads are apart
// from runs to keep the rows that queries walk small. A case (what is measured on which device, how, with which primary
// metric) recurs in session after session, and a series is one metric of a case over time: `points` is clustered by
// exactly that, so that a series is one stretch of the file however much else is stored.
// `rounds` is a journal: its rows go when the merged run that contains them comes.
constexpr const char* kTables1 = R"sql(
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  started TEXT NOT NULL,
  command TEXT NOT NULL,
  hostname TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  branch TEXT NOT NULL,
  dirty INTEGER NOT NULL,
  document TEXT NOT NULL
);
CREATE INDEX sessions_by_start ON sessions (started);

CREATE TABLE finishes (
  session INTEGER PRIMARY KEY REFERENCES sessions (key),
  document TEXT NOT NULL
);

CREATE TABLE cases (
  key INTEGER PRIMARY KEY,
  workload TEXT NOT NULL,
  device TEXT NOT NULL,
  mode TEXT NOT NULL,
  params TEXT NOT NULL,
  metric TEXT NOT NULL,
  UNIQUE (workload, device, mode, params, metric)
);
CREATE TABLE case_params (
  case_key INTEGER NOT NULL REFERENCES cases (key),
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (case_key, name)
) WITHOUT ROWID;

CREATE TABLE runs (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (key),
  position INTEGER NOT NULL,
  case_key INTEGER NOT NULL REFERENCES cases (key),
  started TEXT NOT NULL,
  outcome TEXT NOT NULL,
  UNIQUE (session, position)
);
CREATE INDEX runs_by_start ON runs (started);

CREATE TABLE points (
  case_key INTEGER NOT NULL REFERENCES cases (key),
  metric TEXT NOT NULL,
  started TEXT NOT NULL,
  run INTEGER NOT NULL REFERENCES runs (key),
  session INTEGER NOT NULL REFERENCES sessions (key),
  position INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  unit TEXT NOT NULL,
  better TEXT NOT NULL,
  n INTEGER NOT NULL,
  median REAL NOT NULL,
  ci_low REAL,
  ci_high REAL,
  ci_confidence REAL,
  PRIMARY KEY (case_key, metric, started, run)
) WITHOUT ROWID;

CREATE TABLE payloads (
  run INTEGER PRIMARY KEY REFERENCES runs (key),
  document TEXT NOT NULL,
  samples BLOB NOT NULL
);

CREATE TABLE rounds (
  session INTEGER NOT NULL REFERENCES sessions (key),
  position INTEGER NOT NULL,
  round INTEGER NOT NULL,
  document TEXT NOT NULL,
  samples BLOB NOT NULL,
  PRIMARY KEY (session, position, round)
);
)sql";

constexpr const char* kSqlite1 = R"sql(
CREATE TRIGGER sessions_stay BEFORE UPDATE ON sessions BEGIN SELECT RAISE (ABORT, 'sessions are never rewritten'); END;
CREATE TRIGGER sessions_last BEFORE DELETE ON sessions BEGIN SELECT RAISE (ABORT, 'sessions are never deleted'); END;
CREATE TRIGGER runs_stay BEFORE UPDATE ON runs BEGIN SELECT RAISE (ABORT, 'runs are never rewritten'); END;
CREATE TRIGGER runs_last BEFORE DELETE ON runs BEGIN SELECT RAISE (ABORT, 'runs are never deleted'); END;
CREATE TRIGGER payloads_stay BEFORE UPDATE ON payloads BEGIN SELECT RAISE (ABORT, 'runs are never rewritten'); END;
CREATE TRIGGER payloads_last BEFORE DELETE ON payloads BEGIN SELECT RAISE (ABORT, 'runs are never deleted'); END;
)sql";

// The references of points would be looked up by reading all of them whenever a run is deleted; SQLite's are switched
// off while it prunes.
constexpr const char* kPostgres1 = R"sql(
ALTER TABLE points DROP CONSTRAINT points_run_fkey, DROP CONSTRAINT points_session_fkey;
CREATE FUNCTION refuse_change () RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION '% are never rewritten', TG_TABLE_NAME; END $$;
CREATE FUNCTION refuse_delete () RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION '% are never deleted', TG_TABLE_NAME; END $$;
CREATE TRIGGER sessions_stay BEFORE UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION refuse_change ();
CREATE TRIGGER sessions_last BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION refuse_delete ();
CREATE TRIGGER runs_stay BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_change ();
CREATE TRIGGER runs_last BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_delete ();
CREATE TRIGGER payloads_stay BEFORE UPDATE ON payloads FOR EACH ROW EXECUTE FUNCTION refuse_change ();
CREATE TRIGGER payloads_last BEFORE DELETE ON payloads FOR EACH ROW EXECUTE FUNCTION refuse_delete ();
)sql";

// Names for sessions, and pruning: sessions that are to go are named in `prunings`, and their rows may be deleted as
// long as that row is open. It is open within a transaction only, and stays as the record of what was there.
constexpr const char* kTables2 = R"sql(
CREATE TABLE tags (
  name TEXT NOT NULL PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (key)
);
CREATE INDEX tags_by_session ON tags (session);
CREATE TABLE prunings (
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  started TEXT NOT NULL,
  pruned TEXT NOT NULL,
  is_open INTEGER NOT NULL
);
CREATE INDEX prunings_by_session ON prunings (session, is_open);
)sql";

constexpr const char* kSqlite2 = R"sql(
DROP TRIGGER sessions_last;
DROP TRIGGER runs_last;
DROP TRIGGER payloads_last;
CREATE TRIGGER sessions_last BEFORE DELETE ON sessions
  WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE session = OLD.key AND is_open = 1)
  BEGIN SELECT RAISE (ABORT, 'sessions are deleted by pruning only'); END;
CREATE TRIGGER runs_last BEFORE DELETE ON runs
  WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE session = OLD.session AND is_open = 1)
  BEGIN SELECT RAISE (ABORT, 'runs are deleted by pruning only'); END;
CREATE TRIGGER payloads_last BEFORE DELETE ON payloads
  WHEN NOT EXISTS (SELECT 1 FROM prunings p JOIN runs r ON r.session = p.session
                   WHERE r.key = OLD.run AND p.is_open = 1)
  BEGIN SELECT RAISE (ABORT, 'runs are deleted by pruning only'); END;
)sql";

constexpr const char* kPostgres2 = R"sql(
DROP TRIGGER sessions_last ON sessions;
DROP TRIGGER runs_last ON runs;
DROP TRIGGER payloads_last ON payloads;
CREATE FUNCTION keep_session () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM prunings WHERE session = OLD.key AND is_open = 1) THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'sessions are deleted by pruning only'; END $$;
CREATE FUNCTION keep_run () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM prunings WHERE session = OLD.session AND is_open = 1) THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'runs are deleted by pruning only'; END $$;
CREATE FUNCTION keep_payload () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM prunings p JOIN runs r ON r.session = p.session WHERE r.key = OLD.run AND p.is_open = 1)
    THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'runs are deleted by pruning only'; END $$;
CREATE TRIGGER sessions_last BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION keep_session ();
CREATE TRIGGER runs_last BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION keep_run ();
CREATE TRIGGER payloads_last BEFORE DELETE ON payloads FOR EACH ROW EXECUTE FUNCTION keep_payload ();
)sql";

// What verbs concluded about a session, as JSON: matrices, optimizations, acceptances.
constexpr const char* kTables3 = R"sql(
CREATE TABLE documents (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (key),
  position INTEGER NOT NULL,
  kind TEXT NOT NULL,
  made TEXT NOT NULL,
  title TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  document TEXT NOT NULL,
  UNIQUE (session, position)
);
CREATE INDEX documents_by_kind ON documents (kind, made);
CREATE INDEX documents_by_time ON documents (made);
)sql";

constexpr const char* kSqlite3 = R"sql(
CREATE TRIGGER documents_stay BEFORE UPDATE ON documents
  BEGIN SELECT RAISE (ABORT, 'documents are never rewritten'); END;
CREATE TRIGGER documents_last BEFORE DELETE ON documents
  WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE session = OLD.session AND is_open = 1)
  BEGIN SELECT RAISE (ABORT, 'documents are deleted by pruning only'); END;
)sql";

constexpr const char* kPostgres3 = R"sql(
CREATE FUNCTION keep_document () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM prunings WHERE session = OLD.session AND is_open = 1) THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'documents are deleted by pruning only'; END $$;
CREATE TRIGGER documents_stay BEFORE UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION refuse_change ();
CREATE TRIGGER documents_last BEFORE DELETE ON documents FOR EACH ROW EXECUTE FUNCTION keep_document ();
)sql";

constexpr Migration kMigrations[] = {
    {1, kTables1, kSqlite1, kPostgres1}, {2, kTables2, kSqlite2, kPostgres2}, {3, kTables3, kSqlite3, kPostgres3}};

Result<std::vector<std::string>> metrics_of_case(SqlDatabase& database, std::int64_t case_key) {
  std::vector<std::string> metrics;
  for (std::string last;;) {  // from one to the next, without reading the points between
    std::string next;
    WM_TRY(database.each("SELECT metric FROM points WHERE case_key = ? AND metric > ? ORDER BY metric LIMIT 1",
                         {case_key, last}, [&](const Row& row) {
                           next = row.text(0);
                           return Status();
                         }));
    if (next.empty()) return metrics;
    metrics.push_back(next);
    last = next;
  }
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Status delete_session(SqlDatabase& database, std::int64_t key) {
  struct Key {
    std::int64_t run = 0, case_key = 0;
    std::string started;
  };
  std::vector<Key> runs;
  WM_TRY(database.each("SELECT key, case_key, started FROM runs WHERE session = ?", {key}, [&](const Row& row) {
    runs.push_back({row.integer(0), row.integer(1), row.text(2)});
    return Status();
  }));
  for (const auto& [run, case_key, started] : runs) {
    // By the key of the table, metric after metric: a search by run alone would read all of it.
    WM_ASSIGN(const auto metrics, metrics_of_case(database, case_key));
    for (const auto& metric : metrics) {
      WM_TRY(database.run("DELETE FROM points WHERE case_key = ? AND metric = ? AND started = ? AND run = ?",
                          {case_key, metric, started, run}));
    }
    WM_TRY(database.run("DELETE FROM payloads WHERE run = ?", {run}));
  }
  for (const char* sql : {"DELETE FROM documents WHERE session = ?", "DELETE FROM rounds WHERE session = ?",
                          "DELETE FROM runs WHERE session = ?", "DELETE FROM finishes WHERE session = ?",
                          "DELETE FROM sessions WHERE key = ?"}) {
    WM_TRY(database.run(sql, {key}));
  }
  return {};
}

}  // namespace warpmark::store
