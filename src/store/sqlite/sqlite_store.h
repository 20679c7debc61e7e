// The default Store: one SQLite file in WAL mode, which several processes may write at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/sql/sql_database.h"
#include "store/store.h"

// SQLite with our errors: a connection and its statements as values that clean up after themselves.
// https://www.sqlite.org/wal.html, https://www.sqlite.org/rescode.html

struct sqlite3;
struct sqlite3_stmt;

namespace warpmark::store {

struct DatabaseOptions {
  double busy_timeout_s = 30;  ///< how long to wait for other processes' writes
  std::int64_t max_bytes = 0;  ///< the file may not grow beyond this; 0: as far as the disk allows
  bool reads_only = false;     ///< nothing will be written: a file that we may not write is opened for reading
  /// Is called with the reason where SQLite takes the file for one that nobody writes (immutable=1).
  std::function<void(const std::string& reason)> on_immutable = {};
};

/// An open file. One thread at a time; not to be used across fork().
class Database final : public SqlDatabase {
 public:
  /// Opens or creates the file and its folder; every commit will be synced to the disk. Environment error if it cannot
  /// be written, data error if it is no SQLite database. Changes nothing in a file that exists.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, const DatabaseOptions& options);

  [[nodiscard]] Status each(const std::string& sql, const SqlValues& values,
                            const std::function<Status(const Row&)>& use) override;
  [[nodiscard]] Status script(const std::string& sql) override;
  [[nodiscard]] Status begin(TransactionKind kind) override;
  [[nodiscard]] Status check_references(bool on) override;
  [[nodiscard]] const Dialect& dialect() const override;

  /// Readers do not wait for the writer, nor it for them. Kept in the file, for every later connection.
  [[nodiscard]] Status use_write_ahead_log();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Opened for reading, as it cannot be written.
  [[nodiscard]] bool read_only() const { return read_only_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
  struct Wait {
    std::int64_t limit_ns = 0;
    std::int64_t begin_ns = 0;
  };
  static int wait_a_little(void* wait, int attempt);

  Database(sqlite3* handle, std::filesystem::path path, const DatabaseOptions& options);
  [[nodiscard]] Status configure();
  [[nodiscard]] Result<Statement> prepare(const std::string& sql);
  [[nodiscard]] Result<Statement> take(const std::string& sql);
  void give_back(const std::string& sql, Statement statement);
  [[nodiscard]] Error error(int code) const;

  std::unique_ptr<sqlite3, Close> handle_;
  bool read_only_ = false;
  std::filesystem::path path_;
  DatabaseOptions options_;
  std::unique_ptr<Wait> wait_;                          ///< where it is: SQLite keeps a pointer to it
  std::map<std::string, Statement, std::less<>> idle_;  ///< compiled statements that nobody uses now
};

// Who keeps others from writing a database, from /proc/locks (proc(5)). Only read: opening the files to ask with fcntl
// would drop this process's own locks on them when closed.

/// Ids of processes with a write lock on one of the inodes, by the text of /proc/locks. Pure.
[[nodiscard]] std::vector<int> lock_holders_in(std::string_view proc_locks, const std::vector<std::string>& inodes);

/// "process 1234 (python3)", or "another process" where the system does not tell. Never this process.
[[nodiscard]] std::string describe_lock_holders(const std::filesystem::path& database);

/// Marks the file as ours (PRAGMA application_id): "WPMK".
inline constexpr std::int64_t kApplicationId = 0x57504D4B;

/// Brings a database to the last version of `steps`, each step in a transaction of its own. Data error for a file of
/// another program and for one written by a newer warpmark; neither is touched.
[[nodiscard]] Status migrate(Database& database, std::span<const Migration> steps);

/// Opens or creates the file, in a folder that is there, and brings its schema up to date. Environment error if it
/// cannot be written, data error if it is something else or was written by a newer warpmark. Not to be used across
/// fork().
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path,
                                                         const DatabaseOptions& options = {});

}  // namespace warpmark::store
