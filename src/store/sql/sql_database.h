// A connection to a database that speaks SQL, as the store needs it: statements with bound values, rows, transactions.
// Implementations: SQLite (sqlite/sqlite_store.h) and PostgreSQL (postgres/postgres_store.h). Statements are written in
// what both understand; where they differ a Dialect has the words.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace warpmark::store {

/// What a '?' of a statement stands for. Texts and blobs are copied.
struct Blob {
  std::string_view bytes;
};
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, Blob>;
using SqlValues = std::vector<SqlValue>;

/// The current row of a query; valid until the next one, as is what bytes() gives.
class Row {
 public:
  virtual ~Row() = default;
  [[nodiscard]] virtual bool null(int column) const = 0;
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual double number(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;
  [[nodiscard]] virtual std::string_view bytes(int column) const = 0;
};

struct Dialect {
  const char* cross_join;                            ///< a join whose order of loops stays, where the database has one
  const char* glob;                                  ///< operator of a pattern as to_pattern makes it
  std::string (*to_pattern)(std::string_view glob);  ///< from base/text.h's glob_match
  /// Joins the rows of `table` ("points p") that fit a row of the tables before it, looked up for each of them.
  std::string (*join_each)(const std::string& table, const std::string& condition);
};

enum class TransactionKind { read, write };

/// One thread at a time; not to be used across fork().
class SqlDatabase {
 public:
  SqlDatabase() = default;
  SqlDatabase(SqlDatabase&&) = default;
  SqlDatabase& operator=(SqlDatabase&&) = default;
  virtual ~SqlDatabase() = default;

  /// One statement, to its end. Calls `use` with every row; an error it returns ends the query.
  [[nodiscard]] virtual Status each(const std::string& sql, const SqlValues& values,
                                    const std::function<Status(const Row&)>& use) = 0;
  /// Several statements separated by ';', without values.
  [[nodiscard]] virtual Status script(const std::string& sql) = 0;
  /// A write transaction has the whole store to itself, and waits for it at the beginning, so that it cannot fail half
  /// way for want of it. A read transaction sees one state of the store.
  [[nodiscard]] virtual Status begin(TransactionKind kind) = 0;
  /// Outside a transaction: whether deleting looks for rows that still refer to the deleted ones.
  [[nodiscard]] virtual Status check_references(bool on) = 0;
  [[nodiscard]] virtual const Dialect& dialect() const = 0;

  /// One statement without rows.
  [[nodiscard]] Status run(const std::string& sql, const SqlValues& values = {});
  /// The first column of the first row; 0 if there is none.
  [[nodiscard]] Result<std::int64_t> integer(const std::string& sql, const SqlValues& values = {});
};

/// Everything until commit() happens or nothing does.
class Transaction {
 public:
  using Kind = TransactionKind;
  [[nodiscard]] static Result<Transaction> begin(SqlDatabase& database, Kind kind);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  [[nodiscard]] Status commit();

 private:
  explicit Transaction(SqlDatabase& database) : database_(&database) {}
  SqlDatabase* database_;
};

// The tables of a store and how they came to be, for every database that speaks SQL. A change of the schema is a new
// step at the end of the list; steps that were released stay as they are.

struct Migration {
  std::int64_t version;  ///< of the schema after it; 1, 2, 3, ...
  const char* tables;    ///< in SQLite's words; PostgreSQL's are derived (postgres/postgres_store.h)
  const char* sqlite;    ///< what only SQLite understands, as triggers; nullptr: nothing
  const char* postgres;  ///< the same for PostgreSQL
};

[[nodiscard]] std::span<const Migration> migrations();

/// Within a write transaction in which `prunings` has an open row for the session.
[[nodiscard]] Status delete_session(SqlDatabase& database, std::int64_t key);

}  // namespace warpmark::store
