#include "profile/writers/sqlite.h"

#include <system_error>

#include "base/files.h"
#include "profile/writers/sqlite_tables.h"

namespace warpmark::profile {
namespace {

Status fill_file(const ProfileSession& session, const std::filesystem::path& path) {
  WM_ASSIGN(const Database database, Database::create(path));
  return fill_tables(session, database);
}

Status write(const ProfileSession& session, const std::filesystem::path& path) {
  const auto temporary = temporary_for(path);
  std::error_code code;
  std::filesystem::remove(temporary, code);
  const Status status = fill_file(session, temporary);
  if (status.ok()) return put_in_place(temporary, path);
  std::filesystem::remove(temporary, code);
  return status;
}

}  // namespace

const Writer kSqliteWriter = {"sqlite", "SQLite tables for questions of your own (docs/profile-sql.md)", "sqlite",
                              write};

}  // namespace warpmark::profile
