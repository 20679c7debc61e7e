#include "store/postgres/postgres_store.h"

#include <utility>

#include "store/sql/sql_store.h"

namespace warpmark::store {
namespace {

/// 0 where there is no schema yet.
Result<std::int64_t> version_of(PostgresConnection& database) {
  // Not to be seen is not the same as not being there. One statement asks for both, as another process may be making
  // the schema: two would see it before and after.
  WM_ASSIGN(const auto state,
            database.integer("SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM pg_namespace n JOIN pg_class c ON "
                             "c.relnamespace = n.oid WHERE n.nspname = 'warpmark' AND c.relname = 'schema_version') "
                             "THEN 0 WHEN EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = "
                             "'warpmark' AND table_name = 'schema_version') THEN 1 ELSE 2 END"));
  if (state == 0) return 0;
  if (state == 2) {
    return environment_error("the " + database.place() + " does not permit to read the schema warpmark",
                             "an administrator can: GRANT USAGE ON SCHEMA warpmark TO ...; GRANT SELECT, INSERT, "
                             "DELETE, UPDATE ON ALL TABLES IN SCHEMA warpmark TO ...");
  }
  return database.integer("SELECT version FROM schema_version");
}

Status apply(PostgresConnection& database, const Migration& step) {
  if (step.tables != nullptr) WM_TRY(database.script(to_postgres(step.tables)));
  if (step.postgres != nullptr) WM_TRY(database.script(step.postgres));
  return database.run("UPDATE schema_version SET version = ?", {step.version});
}

Status make_schema(PostgresConnection& database) {
  WM_ASSIGN(const auto known, database.integer("SELECT count(*) FROM pg_namespace WHERE nspname = 'warpmark'"));
  if (known == 0) WM_TRY(database.script("CREATE SCHEMA warpmark"));
  return database.script(
      "CREATE TABLE schema_version (version BIGINT NOT NULL); INSERT INTO schema_version VALUES (0)");
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres(const std::string& url, const PostgresOptions& options) {
  WM_ASSIGN(auto connection, PostgresConnection::open(url, options));
  WM_TRY(migrate(connection, migrations()));
  return make_sql_store(std::make_unique<PostgresConnection>(std::move(connection)));
}

std::string to_postgres(std::string_view tables) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"key INTEGER PRIMARY KEY", "key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
      {"INTEGER", "BIGINT"},
      {"REAL", "DOUBLE PRECISION"},
      {"BLOB", "BYTEA"},
      {" WITHOUT ROWID", ""},
      {"TEXT", "TEXT COLLATE \"C\""},
  };
  std::string text(tables);
  for (const auto& [from, to] : kWords) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

Status migrate(PostgresConnection& database, std::span<const Migration> steps) {
  const std::int64_t newest = steps.back().version;
  WM_ASSIGN(auto version, version_of(database));
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
    WM_ASSIGN(version, version_of(database));  // another process may have been faster
    if (step.version <= version) continue;
    if (version == 0 && step.version == steps.front().version) WM_TRY(make_schema(database));
    WM_TRY(apply(database, step));
    WM_TRY(transaction.commit());
    version = step.version;
  }
  if (version <= newest) return {};
  return data_error("the " + database.place() + " was written by a newer warpmark (its schema is version " +
                        std::to_string(version) + ", this one knows versions up to " + std::to_string(newest) + ")",
                    "use the newer warpmark, or name another database with --db or WARPMARK_DB");
}

}  // namespace warpmark::store
