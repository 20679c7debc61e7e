// The steps of sql/schema.h in a SQLite file.
#pragma once

#include <cstdint>
#include <span>

#include "store/sql/schema.h"
#include "store/sqlite/database.h"

namespace warpmark::store {

/// Marks the file as ours (PRAGMA application_id): "WPMK".
inline constexpr std::int64_t kApplicationId = 0x57504D4B;

/// Brings a database to the last version of `steps`, each step in a transaction of its own. Data error for a file of
/// another program and for one written by a newer warpmark; neither is touched.
[[nodiscard]] Status migrate(Database& database, std::span<const Migration> steps);

}  // namespace warpmark::store
