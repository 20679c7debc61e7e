#include "profile/readers/nsys/nsys_tables.h"

#include <sqlite3.h>

#include <utility>

#include "profile/readers/text/json_text.h"

namespace warpmark::profile {
namespace {

std::string sql_name(const std::string& name) {
  std::string result = "\"";
  for (const char c : name) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

constexpr std::size_t kMostMemoryBytes = std::size_t{1} << 30;  // of an export that is not a plain file
constexpr std::int64_t kLeastRowBytes = 6;                      // a cell of NULLs and its entry in the page
constexpr std::int64_t kMostTextGrowth = 2;  // from UTF-16 to UTF-8, and all rows of a text that is stored once

}  // namespace

Allowance::Allowance(std::int64_t file_bytes)
    : rows_(file_bytes / kLeastRowBytes), text_bytes_(file_bytes * kMostTextGrowth) {}

Result<NsysTables> NsysTables::open(ByteSource& source) {
  if (source.packing().empty() && !source.path().empty() && source.stored_bytes() > 0) {
    WM_ASSIGN(Database database, Database::open_read_only(source.path()));
    return open(std::move(database));
  }
  WM_ASSIGN(std::string bytes, read_all(source, kMostMemoryBytes));
  WM_ASSIGN(Database database, Database::open_bytes(std::move(bytes)));
  return open(std::move(database));
}

Result<NsysTables> NsysTables::open(Database database) {
  NsysTables tables;
  tables.database_ = std::move(database);
  WM_ASSIGN(const std::int64_t file_bytes, tables.database_.bytes());
  tables.allowance_ = Allowance(file_bytes);
  // Views are left out: what they compute is not the profiler's.
  WM_ASSIGN(Statement names, tables.database_.prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  for (;;) {
    WM_ASSIGN(const bool row, names.step());
    if (!row || !tables.allowance_.take_row() || !tables.allowance_.take_text(names.text(0).size())) break;
    tables.columns_[std::string(names.text(0))];
  }
  for (auto& [table, columns] : tables.columns_) {
    WM_ASSIGN(Statement info, tables.database_.prepare("PRAGMA table_info(" + sql_name(table) + ")"));
    for (;;) {
      const auto row = info.step();
      if (!row.ok() || !*row) break;  // a virtual table of a module that is not here has no columns
      columns.insert(std::string(info.text(1)));
    }
  }
  if (!tables.has("StringIds")) return tables;
  WM_ASSIGN(Statement strings, tables.select("StringIds", {"id", "value"}));
  for (;;) {
    WM_ASSIGN(const bool row, strings.step());
    if (!row || !tables.allowance_.take_row() || !tables.allowance_.take_text(strings.text(1).size())) break;
    tables.strings_[strings.integer(0)] = fix_utf8(strings.text(1));
  }
  return tables;
}

std::vector<std::string> NsysTables::names(const std::string& begin) const {
  std::vector<std::string> found;
  for (auto table = columns_.lower_bound(begin); table != columns_.end() && table->first.starts_with(begin); ++table) {
    found.push_back(table->first);
  }
  return found;
}

Result<Statement> NsysTables::select(const std::string& table, std::initializer_list<const char*> columns) const {
  const auto known = columns_.find(table);
  std::string sql;
  for (const std::string column : columns) {
    const auto bar = column.find('|');
    const std::string first = column.substr(0, bar);
    const std::string second = bar == std::string::npos ? "" : column.substr(bar + 1);
    std::string found = "NULL";
    if (known != columns_.end() && known->second.contains(second)) found = sql_name(second);
    if (known != columns_.end() && known->second.contains(first)) found = sql_name(first);
    sql += (sql.empty() ? "SELECT " : ", ") + found;
  }
  return database_.prepare(sql + " FROM " + sql_name(table));
}

const std::string& NsysTables::string(std::int64_t id) const {
  static const std::string kEmpty;
  const auto found = strings_.find(id);
  return found == strings_.end() ? kEmpty : found->second;
}

}  // namespace warpmark::profile
