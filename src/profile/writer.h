// A writer puts a session into one of the formats in profile/catalog.h: `warpmark convert`.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "model/profile/profile_session.h"

namespace warpmark::profile {

struct Writer {
  const char* id;         ///< "chrome", "sqlite", ...: the value of --to
  const char* summary;    ///< one line for --help
  const char* extension;  ///< of a file, without a dot
  /// Writes beside `path` first and renames, so that a failed conversion leaves no half file.
  Status (*write)(const ProfileSession& session, const std::filesystem::path& path);
  /// The files that write() makes; nullptr: just `path`.
  std::vector<std::filesystem::path> (*files)(const ProfileSession& session,
                                              const std::filesystem::path& path) = nullptr;
};

}  // namespace warpmark::profile
