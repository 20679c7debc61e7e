// SQLite with our errors: a connection, its statements and transactions as values that clean up after themselves.
// https://www.sqlite.org/wal.html, https://www.sqlite.org/rescode.html
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace warpmark::store {

/// What a '?' of a statement stands for. Texts and blobs are copied.
struct Blob {
  std::string_view bytes;
};
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, Blob>;
using SqlValues = std::vector<SqlValue>;

/// The current row of a query; valid until the next one.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  sqlite3_stmt* statement_;
};

struct DatabaseOptions {
  double busy_timeout_s = 10;  ///< how long to wait for another process's write
  std::int64_t max_bytes = 0;  ///< the file may not grow beyond this; 0: as far as the disk allows
};

/// An open file. One thread at a time; not to be used across fork().
class Database {
 public:
  /// Opens or creates the file and its folder; every commit will be synced to the disk. Environment error if it cannot
  /// be written, data error if it is no SQLite database. Changes nothing in a file that exists.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, const DatabaseOptions& options);

  /// One statement, to its end.
  [[nodiscard]] Status run(const char* sql, const SqlValues& values = {});
  /// Calls `use` with every row; an error it returns ends the query.
  [[nodiscard]] Status each(const std::string& sql, const SqlValues& values,
                            const std::function<Status(const Row&)>& use);
  /// Several statements separated by ';', without values.
  [[nodiscard]] Status script(const char* sql);
  /// The first column of the first row; 0 if there is none.
  [[nodiscard]] Result<std::int64_t> integer(const char* sql, const SqlValues& values = {});

  /// Readers do not wait for the writer, nor it for them. Kept in the file, for every later connection.
  [[nodiscard]] Status use_write_ahead_log();

  /// Of the row inserted last.
  [[nodiscard]] std::int64_t last_key() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  Database(sqlite3* handle, std::filesystem::path path, const DatabaseOptions& options);
  [[nodiscard]] Status configure();
  [[nodiscard]] Result<Statement> prepare(const std::string& sql, const SqlValues& values);
  [[nodiscard]] Error error(int code) const;

  std::unique_ptr<sqlite3, Close> handle_;
  std::filesystem::path path_;
  DatabaseOptions options_;
};

/// Everything until commit() happens or nothing does.
class Transaction {
 public:
  enum class Kind { read, write };
  /// A write transaction takes the write lock at once, so that it cannot fail half way for want of it.
  [[nodiscard]] static Result<Transaction> begin(Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  [[nodiscard]] Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace warpmark::store
