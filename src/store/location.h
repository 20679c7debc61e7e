// Where a store is: the path of a SQLite file, or the URL of a PostgreSQL database.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace warpmark::store {

/// "postgresql://..." or "postgres://...".
[[nodiscard]] bool is_postgres(std::string_view location);

/// The one named, else that of WARPMARK_DB, else the user's own file, whose folder is made. Environment error for a
/// file in a folder that is not there.
[[nodiscard]] Result<std::string> location_of(const std::string& named, const EnvironmentLookup& environment);

/// Opens or creates it, and brings its schema up to date.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& location);
/// Nothing will be written: a file that we may not write will do. `say` is called with the reason where SQLite takes it
/// for one that nobody writes.
[[nodiscard]] Result<std::unique_ptr<Store>> open_to_read(const std::string& location,
                                                          const std::function<void(const std::string&)>& say);

/// The folder for what is kept beside a store (journals): the file's own; for a database elsewhere the folder that the
/// default file is in. Environment error where there is none.
[[nodiscard]] Result<std::filesystem::path> sibling_folder(const std::string& location,
                                                           const EnvironmentLookup& environment);

/// A text that is another one whenever the database's file was written, made or removed. Empty where that cannot be
/// told: for a URL, where there is no file, and for the first second after a write.
[[nodiscard]] std::string file_stamp(const std::string& location);

}  // namespace warpmark::store
