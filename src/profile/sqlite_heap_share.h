// A bound on the memory of SQLite while it reads a file that is not trusted. SQLite believes the length that a record
// gives: for the numbers of the pages that the record would be spread over it asks for 8 bytes a page, up to 68 MB
// where pages are small, and clears half of them for every row before it looks whether the pages are there.
// SQLITE_LIMIT_LENGTH bounds values, not records, and SQLite has no limit on memory for one connection, so the one of
// the whole process is used: https://www.sqlite.org/c3ref/hard_heap_limit64.html
#pragma once

#include <cstdint>

namespace warpmark::profile {

/// Of a text in a file that is not trusted.
inline constexpr std::int64_t kMostValueBytes = 64 << 20;

/// While one lives, all SQLite databases of the process together get at most so many bytes more than they had before,
/// and SQLITE_NOMEM beyond that. Shares that live at the same time add up. The last one restores the limits it found.
/// Thread safe.
class SqliteHeapShare {
 public:
  explicit SqliteHeapShare(std::int64_t bytes);
  ~SqliteHeapShare();
  SqliteHeapShare(const SqliteHeapShare&) = delete;
  SqliteHeapShare& operator=(const SqliteHeapShare&) = delete;

  /// What reading a sound database of this size takes at most.
  [[nodiscard]] static std::int64_t for_file_of(std::int64_t file_bytes);
};

}  // namespace warpmark::profile
