// The default Store: one SQLite file in WAL mode, which several processes may write at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "store/sql/schema.h"
#include "store/sqlite/database.h"
#include "store/store.h"

namespace warpmark::store {

/// Marks the file as ours (PRAGMA application_id): "WPMK".
inline constexpr std::int64_t kApplicationId = 0x57504D4B;

/// Brings a database to the last version of `steps`, each step in a transaction of its own. Data error for a file of
/// another program and for one written by a newer warpmark; neither is touched.
[[nodiscard]] Status migrate(Database& database, std::span<const Migration> steps);

/// Opens or creates the file, in a folder that is there, and brings its schema up to date. Environment error if it
/// cannot be written, data error if it is something else or was written by a newer warpmark. Not to be used across
/// fork().
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path,
                                                         const DatabaseOptions& options = {});

}  // namespace warpmark::store
