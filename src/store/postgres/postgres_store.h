// The store of a team: a PostgreSQL database, with the schema and the statements of the SQLite store.
#pragma once

#include <memory>
#include <string>

#include "store/postgres/connection.h"
#include "store/store.h"

namespace warpmark::store {

/// Connects and brings the schema up to date. Errors: as PostgresConnection::open; data error if a newer warpmark wrote
/// it.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres(const std::string& url, const PostgresOptions& options = {});

}  // namespace warpmark::store
