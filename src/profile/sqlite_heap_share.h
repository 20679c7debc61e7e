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

/// While one lives, all SQLite databases of the process together get at most so much more than they had before, and
/// SQLITE_NOMEM beyond that. Shares that live at the same time add up. The last one restores the limits it found.
/// Thread safe.
class SqliteHeapShare {
 public:
  /// As much as reading a sound database of this size takes at most.
  explicit SqliteHeapShare(std::int64_t file_bytes);
  ~SqliteHeapShare();
  SqliteHeapShare(const SqliteHeapShare&) = delete;
  SqliteHeapShare& operator=(const SqliteHeapShare&) = delete;

  /// Whether more is in use than a database takes whose longest value so far has this size. In a large file a record
  /// can claim a length that fits into the share, and cost the time to clear it in every row.
  [[nodiscard]] bool is_overdrawn(std::int64_t longest_value_bytes) const;

 private:
  std::int64_t bytes_;
};

}  // namespace warpmark::profile
