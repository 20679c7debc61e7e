#include "profile/sqlite_heap_share.h"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>

namespace warpmark::profile {
namespace {

/// The limits are SQLite's and the process's; what they were before the first share is therefore, too.
struct HeapLimits {
  std::mutex mutex;
  int shares = 0;
  std::int64_t soft_before = 0;  ///< bytes; 0: none
  std::int64_t hard_before = 0;
};

HeapLimits& heap_limits() {
  static HeapLimits limits;
  return limits;
}

std::int64_t bytes_for(std::int64_t longest_value_bytes) {
  constexpr std::int64_t kCaches = 4 << 20;  // SQLite's pages (2 MB unless told otherwise), the schema, statements
  constexpr std::int64_t kCopies = 4;        // of one value: as it is stored, in UTF-8, and each while it grows
  return kCaches + kCopies * std::min(longest_value_bytes, kMostValueBytes);
}

}  // namespace

SqliteHeapShare::SqliteHeapShare(std::int64_t file_bytes) : bytes_(bytes_for(file_bytes)) {
  HeapLimits& limits = heap_limits();
  const std::lock_guard lock(limits.mutex);
  std::int64_t granted = sqlite3_memory_used();
  if (limits.shares++ == 0) {
    limits.soft_before = sqlite3_soft_heap_limit64(-1);
    limits.hard_before = sqlite3_hard_heap_limit64(-1);
  } else {
    granted = sqlite3_hard_heap_limit64(-1);
  }
  sqlite3_hard_heap_limit64(granted + bytes_);
}

SqliteHeapShare::~SqliteHeapShare() {
  HeapLimits& limits = heap_limits();
  const std::lock_guard lock(limits.mutex);
  if (--limits.shares > 0) return;
  sqlite3_hard_heap_limit64(limits.hard_before);
  sqlite3_soft_heap_limit64(limits.soft_before);  // which a hard limit lowers
}

bool SqliteHeapShare::is_overdrawn(std::int64_t longest_value_bytes) const {
  return sqlite3_memory_used() > sqlite3_hard_heap_limit64(-1) - (bytes_ - bytes_for(longest_value_bytes));
}

}  // namespace warpmark::profile
