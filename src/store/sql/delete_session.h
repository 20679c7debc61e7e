// The rows of a session, in the order in which they may go.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/sql/sql_database.h"

namespace warpmark::store {

/// Within a write transaction in which `prunings` has an open row for the session.
[[nodiscard]] Status delete_session(SqlDatabase& database, std::int64_t key);

}  // namespace warpmark::store
