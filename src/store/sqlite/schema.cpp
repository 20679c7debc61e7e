#include "store/sqlite/schema.h"

namespace warpmark::store {
namespace {

// Sessions and runs have what queries filter by in columns, everything else in their JSON document. Payloads are apart
// from runs to keep the rows that queries walk small. A case (what is measured on which device, how, with which primary
// metric) recurs in session after session, and a series is one metric of a case over time: `points` is clustered by
// exactly that, so that a series is one stretch of the file however much else is stored.
// `rounds` is a journal: its rows go when the merged run that contains them comes.
constexpr const char* kVersion1 = R"sql(
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

CREATE TRIGGER sessions_stay BEFORE UPDATE ON sessions BEGIN SELECT RAISE (ABORT, 'sessions are never rewritten'); END;
CREATE TRIGGER sessions_last BEFORE DELETE ON sessions BEGIN SELECT RAISE (ABORT, 'sessions are never deleted'); END;
CREATE TRIGGER runs_stay BEFORE UPDATE ON runs BEGIN SELECT RAISE (ABORT, 'runs are never rewritten'); END;
CREATE TRIGGER runs_last BEFORE DELETE ON runs BEGIN SELECT RAISE (ABORT, 'runs are never deleted'); END;
CREATE TRIGGER payloads_stay BEFORE UPDATE ON payloads BEGIN SELECT RAISE (ABORT, 'runs are never rewritten'); END;
CREATE TRIGGER payloads_last BEFORE DELETE ON payloads BEGIN SELECT RAISE (ABORT, 'runs are never deleted'); END;
)sql";

constexpr Migration kMigrations[] = {{1, kVersion1}};

/// The version of the file, after making sure that it is ours and not newer than `newest`.
Result<std::int64_t> version_of(Database& database, std::int64_t newest) {
  WM_ASSIGN(const auto application, database.integer("PRAGMA application_id"));
  WM_ASSIGN(const auto version, database.integer("PRAGMA user_version"));
  WM_ASSIGN(const auto tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  const std::string file = database.path().string();
  const bool is_new = application == 0 && version == 0 && tables == 0;
  if (application != kApplicationId && !is_new) {
    return data_error(file + " is a SQLite database of another program", "name another file with --db or WARPMARK_DB");
  }
  if (version > newest) {
    return data_error(file + " was written by a newer warpmark (its schema is version " + std::to_string(version) +
                          ", this one knows versions up to " + std::to_string(newest) + ")",
                      "use the newer warpmark, or name another file with --db or WARPMARK_DB");
  }
  return version;
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Status migrate(Database& database, std::span<const Migration> steps) {
  const std::int64_t newest = steps.back().version;
  WM_ASSIGN(auto reading, Transaction::begin(database, Transaction::Kind::read));
  WM_ASSIGN(auto version, version_of(database, newest));
  WM_TRY(reading.commit());
  WM_TRY(database.use_write_ahead_log());  // not before: the file might have been another program's
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
    WM_ASSIGN(version, version_of(database, newest));  // another process may have been faster
    if (step.version <= version) continue;
    WM_TRY(database.script(step.sql));
    WM_TRY(database.script(("PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(step.version))
                               .c_str()));
    WM_TRY(transaction.commit());
    version = step.version;
  }
  return {};
}

}  // namespace warpmark::store
