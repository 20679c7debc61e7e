// The steps of sql/schema.h in a PostgreSQL database.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "store/postgres/connection.h"
#include "store/sql/schema.h"

namespace warpmark::store {

/// Table definitions in SQLite's words as PostgreSQL has them: wider types, keys that count by themselves, texts that
/// compare by their bytes as SQLite's do.
[[nodiscard]] std::string to_postgres(std::string_view tables);

/// Brings the schema "warpmark" to the last version of `steps`, each step in a transaction of its own; makes it if it
/// is not there. Data error for one written by a newer warpmark.
[[nodiscard]] Status migrate(PostgresConnection& database, std::span<const Migration> steps);

}  // namespace warpmark::store
