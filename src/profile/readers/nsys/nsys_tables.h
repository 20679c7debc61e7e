// Tables and columns of an Nsight Systems export differ by version and by what was recorded: they are asked for, and
// what is missing reads as NULL.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/source.h"
#include "profile/sqlite_database.h"

namespace warpmark::profile {

/// What a database of some size can hold at most. One whose pages refer to one another in circles, by damage or by
/// intent, seems to hold rows without end.
class Allowance {
 public:
  Allowance() = default;
  explicit Allowance(std::int64_t file_bytes);
  /// False once it is more than fits.
  [[nodiscard]] bool take_row() { return --rows_ >= 0; }
  [[nodiscard]] bool take_text(std::size_t bytes) { return (text_bytes_ -= static_cast<std::int64_t>(bytes)) >= 0; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t text_bytes_ = 0;
};

class NsysTables {
 public:
  [[nodiscard]] static Result<NsysTables> open(Database database);
  [[nodiscard]] static Result<NsysTables> open(ByteSource& source);

  [[nodiscard]] bool has(const std::string& table) const { return columns_.contains(table); }
  /// Names of tables that begin so.
  [[nodiscard]] std::vector<std::string> names(const std::string& begin) const;
  /// Rows of the table with these columns in this order; "a|b" is the first of two names that exists.
  [[nodiscard]] Result<Statement> select(const std::string& table, std::initializer_list<const char*> columns) const;
  /// Of the table StringIds; empty if unknown.
  [[nodiscard]] const std::string& string(std::int64_t id) const;
  [[nodiscard]] const Database& database() const { return database_; }
  /// What is left of it after the strings.
  [[nodiscard]] const Allowance& allowance() const { return allowance_; }

 private:
  Database database_;
  Allowance allowance_;
  std::map<std::string, std::set<std::string>> columns_;
  std::unordered_map<std::int64_t, std::string> strings_;
};

/// Calls `row(statement)` for each row of a table, if the table is there. False if a damaged page ends it early.
template <typename Row>
[[nodiscard]] Result<bool> each_row(const NsysTables& tables, const std::string& table,
                                    std::initializer_list<const char*> columns, Allowance& allowance, Row row) {
  if (!tables.has(table)) return true;
  WM_ASSIGN(Statement rows, tables.select(table, columns));
  for (;;) {
    const auto more = rows.step();
    if (!more.ok() || (*more && !allowance.take_row())) return false;
    if (!*more) return true;
    row(rows);
  }
}

[[nodiscard]] inline std::int64_t process_of(std::int64_t global_id) { return global_id >> 24 & 0xFFFFFF; }
[[nodiscard]] inline std::int64_t thread_of(std::int64_t global_id) { return global_id & 0xFFFFFF; }

}  // namespace warpmark::profile
