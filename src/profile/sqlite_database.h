// SQLite for the readers, writers and queries of profiles: handles that close themselves, errors as Status.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace warpmark::profile {

/// Of a text in a file that is not trusted.
inline constexpr std::int64_t kMostValueBytes = 64 << 20;

/// A bound on the memory of SQLite while it reads a file that is not trusted. SQLite believes the length that a record
/// gives: for the numbers of the pages that the record would be spread over it asks for 8 bytes a page, up to 68 MB
/// where pages are small, and clears half of them for every row before it looks whether the pages are there.
/// SQLITE_LIMIT_LENGTH bounds values, not records, and SQLite has no limit on memory for one connection, so the one of
/// the whole process is used: https://www.sqlite.org/c3ref/hard_heap_limit64.html
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

class Database;

/// A prepared statement; steps through its rows. Texts are valid until the next step. Not thread safe.
class Statement {
 public:
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, std::string_view value);  ///< `value` must live until the step is done
  Statement& bind_null(int index);

  /// True if there is a row. Errors: data. In a file that is not trusted, memory that the texts asked for so far do not
  /// explain is an error, too: ask for those of every row.
  [[nodiscard]] Result<bool> step();
  /// For statements without rows; leaves them ready for the next values.
  [[nodiscard]] Status run();

  [[nodiscard]] int columns() const;
  [[nodiscard]] std::string column_name(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] int type(int column) const;  ///< SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB, SQLITE_NULL
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::string_view text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const SqliteHeapShare* heap_share_ = nullptr;  ///< the database's
  std::int64_t steps_ = 0;
  mutable std::int64_t longest_text_ = 0;  ///< bytes, of those that were asked for
};

/// Not thread safe.
class Database {
 public:
  /// A file that is only read, and not trusted: nothing in its schema is executed, and while it is open SQLite gets no
  /// more memory than a sound file of its size needs (SqliteHeapShare); a statement that asks for more fails.
  [[nodiscard]] static Result<Database> open_read_only(const std::filesystem::path& path);
  /// The bytes of such a file; kept by the database.
  [[nodiscard]] static Result<Database> open_bytes(std::string bytes);
  /// A new file (an old one must be gone) or, with an empty path, a database in memory.
  [[nodiscard]] static Result<Database> create(const std::filesystem::path& path);

  [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
  [[nodiscard]] Status execute(const char* sql) const;
  [[nodiscard]] sqlite3* handle() const { return database_.get(); }
  /// Size of the database by its pages.
  [[nodiscard]] Result<std::int64_t> bytes() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  [[nodiscard]] static Result<Database> open(const std::string& name, int flags);
  [[nodiscard]] Status distrust(std::int64_t file_bytes);

  std::unique_ptr<SqliteHeapShare> heap_share_;  ///< of a file that is not trusted
  std::unique_ptr<std::string> bytes_;           ///< before the handle: must outlive it
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace warpmark::profile
