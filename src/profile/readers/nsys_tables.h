// Tables and columns of an Nsight Systems export differ by version and by what was recorded: they are asked for, and
// what is missing reads as NULL.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "profile/sqlite_database.h"

namespace warpmark::profile {

class NsysTables {
 public:
  [[nodiscard]] static Result<NsysTables> open(Database database);

  [[nodiscard]] bool has(const std::string& table) const { return columns_.contains(table); }
  /// Rows of the table with these columns in this order; "a|b" is the first of two names that exists.
  [[nodiscard]] Result<Statement> select(const std::string& table, std::initializer_list<const char*> columns) const;
  /// Of the table StringIds; empty if unknown.
  [[nodiscard]] const std::string& string(std::int64_t id) const;
  [[nodiscard]] const Database& database() const { return database_; }

 private:
  Database database_;
  std::map<std::string, std::set<std::string>> columns_;
  std::unordered_map<std::int64_t, std::string> strings_;
};

[[nodiscard]] inline std::int64_t process_of(std::int64_t global_id) { return global_id >> 24 & 0xFFFFFF; }
[[nodiscard]] inline std::int64_t thread_of(std::int64_t global_id) { return global_id & 0xFFFFFF; }

}  // namespace warpmark::profile
