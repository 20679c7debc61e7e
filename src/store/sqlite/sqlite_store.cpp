#include "store/sqlite/sqlite_store.h"

#include "store/sql/sql_store.h"

namespace warpmark::store {
namespace {

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

Status migrate(Database& database, std::span<const Migration> steps) {
  const std::int64_t newest = steps.back().version;
  WM_ASSIGN(auto reading, Transaction::begin(database, Transaction::Kind::read));
  WM_ASSIGN(auto version, version_of(database, newest));
  WM_TRY(reading.commit());
  if (database.read_only()) {
    if (version == newest) return {};
    return environment_error(database.path().string() + " is of an older version and cannot be written to",
                             "copy it to a folder that you can write, and name the copy with --db");
  }
  WM_TRY(database.use_write_ahead_log());  // not before: the file might have been another program's
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
    WM_ASSIGN(version, version_of(database, newest));  // another process may have been faster
    if (step.version <= version) continue;
    for (const char* sql : {step.tables, step.sqlite}) {
      if (sql != nullptr) WM_TRY(database.script(sql));
    }
    WM_TRY(database.script("PRAGMA application_id = " + std::to_string(kApplicationId) +
                           "; PRAGMA user_version = " + std::to_string(step.version)));
    WM_TRY(transaction.commit());
    version = step.version;
  }
  return {};
}

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, const DatabaseOptions& options) {
  WM_ASSIGN(auto database, Database::open(path, options));
  WM_TRY(migrate(database, migrations()));
  return make_sql_store(std::make_unique<Database>(std::move(database)));
}

}  // namespace warpmark::store
