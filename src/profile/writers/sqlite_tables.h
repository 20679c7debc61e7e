// A session as SQLite tables, for questions of one's own. docs/profile-sql.md describes them for users.
#pragma once

#include "model/profile/profile_session.h"
#include "profile/sqlite_database.h"

namespace warpmark::profile {

/// Makes the tables and views in an empty database and fills them. About 1 million events a second.
[[nodiscard]] Status fill_tables(const ProfileSession& session, const Database& database);

/// Name of a kind in the table events: "op", "runtime_api", "kernel", ...
[[nodiscard]] const char* kind_name(EventKind kind);

}  // namespace warpmark::profile
