// The tables of a store and how they came to be, for every database that speaks SQL. A change of the schema is a new
// step at the end of the list; steps that were released stay as they are.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "store/sql/sql_database.h"

namespace warpmark::store {

struct Migration {
  std::int64_t version;  ///< of the schema after it; 1, 2, 3, ...
  const char* tables;    ///< in SQLite's words; PostgreSQL's are derived (postgres/schema.h)
  const char* sqlite;    ///< what only SQLite understands, as triggers; nullptr: nothing
  const char* postgres;  ///< the same for PostgreSQL
};

[[nodiscard]] std::span<const Migration> migrations();

/// Within a write transaction in which `prunings` has an open row for the session.
[[nodiscard]] Status delete_session(SqlDatabase& database, std::int64_t key);

}  // namespace warpmark::store
