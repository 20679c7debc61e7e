#include "store/location.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/clock.h"
#include "base/files.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::store {

bool is_postgres(std::string_view location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

Result<std::string> location_of(const std::string& named, const EnvironmentLookup& environment) {
  const char* variable = environment("WARPMARK_DB");
  const std::string location = named.empty() && variable != nullptr ? variable : named;
  if (location.empty()) {
    WM_ASSIGN(const auto path, default_store_path(environment));
    WM_TRY(make_folder(path.parent_path(), "name a file in a folder that you can write with --db or WARPMARK_DB"));
    return path.string();
  }
  // Whatever is to stand beside it, such as a journal, would make the folder of a mistyped path.
  if (!is_postgres(location)) WM_TRY(check_folder_of(location));
  return location;
}

Result<std::unique_ptr<Store>> open_store(const std::string& location) {
  return is_postgres(location) ? open_postgres(location) : open_sqlite(location);
}

Result<std::unique_ptr<Store>> open_to_read(const std::string& location,
                                            const std::function<void(const std::string&)>& say) {
  return is_postgres(location) ? open_postgres(location)
                               : open_sqlite(location, {.reads_only = true, .on_immutable = say});
}

std::string file_stamp(const std::string& location) {
  if (is_postgres(location)) return {};
  // The kernel's times of files go in steps of some milliseconds: another write may have the same time as the last one.
  constexpr double kSettled_s = 1;
  std::string stamp;
  for (const char* suffix : {"", "-wal"}) {
    struct stat file {};
    if (::stat((location + suffix).c_str(), &file) != 0) {
      if (*suffix == '\0') return {};
      continue;
    }
    const timespec& written = file.st_mtim;  // not st_ctim: whoever opens the log to read it changes that
    if (wall_clock_s() - (static_cast<double>(written.tv_sec) + static_cast<double>(written.tv_nsec) * 1e-9) <
        kSettled_s)
      return {};
    stamp += fmt::format("{} {} {}.{};", file.st_ino, file.st_size, written.tv_sec, written.tv_nsec);
  }
  return stamp;
}

Result<std::filesystem::path> sibling_folder(const std::string& location, const EnvironmentLookup& environment) {
  if (!is_postgres(location)) return std::filesystem::absolute(location).parent_path();
  const auto path = default_store_path(
      [&](const char* name) { return std::string_view(name) == "WARPMARK_DB" ? nullptr : environment(name); });
  if (path.ok()) return path->parent_path();
  return environment_error("no folder for the files next to the database: HOME is not set",
                           "set HOME or XDG_DATA_HOME");
}

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
