// The store of a team: a PostgreSQL database, with the schema and the statements of the SQLite store.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "store/postgres/connection.h"
#include "store/sql/schema.h"
#include "store/store.h"

namespace warpmark::store {

/// Table definitions in SQLite's words as PostgreSQL has them: wider types, keys that count by themselves, texts that
/// compare by their bytes as SQLite's do.
[[nodiscard]] std::string to_postgres(std::string_view tables);

/// Brings the schema "warpmark" to the last version of `steps`, each step in a transaction of its own; makes it if it
/// is not there. Data error for one written by a newer warpmark.
[[nodiscard]] Status migrate(PostgresConnection& database, std::span<const Migration> steps);

/// Connects and brings the schema up to date. Errors: as PostgresConnection::open; data error if a newer warpmark wrote
/// it.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres(const std::string& url, const PostgresOptions& options = {});

}  // namespace warpmark::store
