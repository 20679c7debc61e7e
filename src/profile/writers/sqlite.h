// A session as an SQLite file with the tables of docs/profile-sql.md.
#pragma once

#include "profile/writer.h"

namespace warpmark::profile {

extern const Writer kSqliteWriter;

}  // namespace warpmark::profile
