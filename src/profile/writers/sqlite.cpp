#include "profile/writers/sqlite.h"

#include <system_error>

#include "profile/writers/sqlite_tables.h"
#include "profile/writers/text_file.h"

namespace warpmark::profile {
namespace {

Status fill_file(const ProfileSession& session, const std::filesystem::path& path) {
  WM_ASSIGN(const Database database, Database::create(path));
  return fill_tables(session, database);
}

Status write(const ProfileSession& session, const std::filesystem::path& path) {
  const auto temporary = temporary_beside(path);
  std::error_code code;
  std::filesystem::remove(temporary, code);
  Status status = fill_file(session, temporary);
  if (status.ok()) std::filesystem::rename(temporary, path, code);
  if (status.ok() && code) status = environment_error("cannot write " + path.string() + ": " + code.message());
  if (!status.ok()) std::filesystem::remove(temporary, code);
  return status;
}

}  // namespace

const Writer kSqliteWriter = {"sqlite", "SQLite tables for questions of your own (docs/profile-sql.md)", "sqlite",
                              write};

}  // namespace warpmark::profile
