// The dashboard as static files: the same pages, and their data as scripts beside them, which open from a disk
// (file://), where a page may not fetch anything, as well as from any web server.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "watch/dashboard/dashboard.h"

namespace warpmark::watch {

struct ExportOptions {
  std::int64_t sessions = 100;   ///< the newest, with their runs and the comparison of each with the one before it
  std::int64_t cases = 500;      ///< the most recently measured, each with the history of all its metrics
  std::int64_t runs = 2000;      ///< the newest of these sessions
  std::int64_t documents = 500;  ///< the newest
};

struct Exported {
  std::int64_t files = 0;
  std::int64_t sessions = 0;
  std::int64_t cases = 0;
};

/// Into a folder that exists; files of an earlier export there are replaced. The first error ends it.
[[nodiscard]] Result<Exported> export_dashboard(Dashboard& dashboard, const std::filesystem::path& folder,
                                                const ExportOptions& options);

}  // namespace warpmark::watch
