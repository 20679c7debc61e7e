// The tables of the store and how older files become newer ones. A released migration is never edited: a change of the
// schema is a new one at the end of the list.
#pragma once

#include <span>

#include "store/sqlite/database.h"

namespace warpmark::store {

/// Marks the file as ours (PRAGMA application_id): "WPMK".
inline constexpr std::int64_t kApplicationId = 0x57504D4B;

struct Migration {
  std::int64_t version;  ///< PRAGMA user_version after it; 1, 2, 3, ...
  const char* sql;
};

[[nodiscard]] std::span<const Migration> migrations();

/// Brings a database to the last version of `steps`, each step in a transaction of its own. Data error for a file of
/// another program and for one written by a newer warpmark; neither is touched.
[[nodiscard]] Status migrate(Database& database, std::span<const Migration> steps);

}  // namespace warpmark::store
