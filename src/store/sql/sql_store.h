// The Store over a database that speaks SQL: the same statements and the same schema for SQLite and PostgreSQL.
#pragma once

#include <memory>

#include "store/sql/sql_database.h"
#include "store/store.h"

namespace warpmark::store {

/// The database must have the newest schema (sql/schema.h).
[[nodiscard]] std::unique_ptr<Store> make_sql_store(std::unique_ptr<SqlDatabase> database);

}  // namespace warpmark::store
