#include "store/store.h"

namespace warpmark::store {

Result<std::filesystem::path> default_store_path(const EnvironmentLookup& environment) {
  const auto path_in = [&](const char* name) {
    const char* value = environment(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const auto chosen = path_in("WARPMARK_DB"); !chosen.empty()) return chosen;
  if (const auto data = path_in("XDG_DATA_HOME"); data.is_absolute()) return data / "warpmark" / "warpmark.db";
  if (const auto home = path_in("HOME"); home.is_absolute()) {
    return home / ".local" / "share" / "warpmark" / "warpmark.db";
  }
  return environment_error("there is no place for the database: HOME names no absolute path",
                           "set WARPMARK_DB or use --db FILE; --no-store keeps nothing");
}

}  // namespace warpmark::store
