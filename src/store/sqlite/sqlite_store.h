// The default Store: one SQLite file in WAL mode, which several processes may write at once.
#pragma once

#include <filesystem>
#include <memory>

#include "store/sqlite/database.h"
#include "store/store.h"

namespace warpmark::store {

/// Opens or creates the file, in a folder that is there, and brings its schema up to date. Environment error if it
/// cannot be written, data error if it is something else or was written by a newer warpmark. Not to be used across
/// fork().
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path,
                                                         const DatabaseOptions& options = {});

}  // namespace warpmark::store
