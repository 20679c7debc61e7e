#include "profile/query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "profile/sqlite_database.h"
#include "profile/writers/sqlite_tables.h"

namespace warpmark::profile {
namespace {

constexpr const char* kHint =
    "the tables are described in docs/profile-sql.md; 'SELECT name, sql FROM sqlite_master' lists them";

/// Reading and computing only. Functions that reach files or libraries are denied by name.
int allow_reading(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION: {
      const std::string_view name = second == nullptr ? "" : second;
      const bool denied = name == "load_extension" || name == "readfile" || name == "writefile" || name == "edit" ||
                          name == "fts3_tokenizer";
      return denied ? SQLITE_DENY : SQLITE_OK;
    }
    case SQLITE_PRAGMA: {
      const std::string_view name = first == nullptr ? "" : first;
      return name == "table_info" || name == "table_list" || name == "table_xinfo" ? SQLITE_OK : SQLITE_DENY;
    }
    default: return SQLITE_DENY;
  }
}

struct Deadline {
  std::int64_t end_ns = 0;
  bool missed = false;
};

int stop_late(void* context) {
  auto* deadline = static_cast<Deadline*>(context);
  deadline->missed = monotonic_ns() > deadline->end_ns;
  return deadline->missed ? 1 : 0;
}

Error query_error(sqlite3* database) {
  return usage_error("the query is not valid: " + std::string(sqlite3_errmsg(database)), kHint);
}

/// One statement, prepared; what follows it must be blank.
struct Prepared {
  sqlite3_stmt* statement = nullptr;
  ~Prepared() { sqlite3_finalize(statement); }
};

QueryValue value_at(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: return std::monostate{};
    case SQLITE_INTEGER: return static_cast<std::int64_t>(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT: return sqlite3_column_double(row, column);
    default: break;
  }
  const auto* text = static_cast<const char*>(sqlite3_column_blob(row, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return text == nullptr ? std::string() : std::string(text, size);
}

/// Without copying: a value may have a gigabyte.
std::int64_t row_bytes(sqlite3_stmt* row, int columns) {
  std::int64_t bytes = 0;
  for (int i = 0; i < columns; ++i) {
    const int type = sqlite3_column_type(row, i);
    const bool long_one = type == SQLITE_TEXT || type == SQLITE_BLOB;
    bytes += static_cast<std::int64_t>(std::string_view(sqlite3_column_name(row, i)).size()) +
             (long_one ? sqlite3_column_bytes(row, i) : 8);
  }
  return bytes;
}

Result<QueryResult> fetch(sqlite3* database, sqlite3_stmt* statement, const QueryOptions& options) {
  Deadline deadline{monotonic_ns() + static_cast<std::int64_t>(options.most_seconds * 1e9), false};
  sqlite3_progress_handler(database, 10'000, stop_late, &deadline);
  QueryResult result;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) {
    const char* name = sqlite3_column_name(statement, i);
    result.columns.emplace_back(name == nullptr ? "" : name);
  }
  int code = SQLITE_ROW;
  std::int64_t bytes = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (result.left_out == 0) {
      bytes += row_bytes(statement, columns);
      if (bytes <= options.most_bytes && result.rows.size() < options.most_rows) {
        auto& row = result.rows.emplace_back();
        for (int i = 0; i < columns; ++i) row.push_back(value_at(statement, i));
        continue;
      }
      if (result.rows.empty() && options.most_rows > 0) {
        return usage_error(
            fmt::format("the first row has {} bytes, and an answer has at most {}", bytes, options.most_bytes),
            "select fewer columns, or the beginning of long texts: substr(name, 1, 1000)");
      }
      deadline.end_ns = std::min(deadline.end_ns, monotonic_ns() + 1'000'000'000);
    }
    ++result.left_out;
  }
  sqlite3_progress_handler(database, 0, nullptr, nullptr);
  result.all_counted = !deadline.missed;
  if (deadline.missed && result.left_out == 0) {
    return usage_error(
        "the query took longer than " + std::to_string(static_cast<int>(options.most_seconds)) + " s and was stopped",
        "joins of events with themselves need a condition on rank and time");
  }
  if (result.all_counted && code != SQLITE_DONE) return query_error(database);
  return result;
}

}  // namespace

Result<QueryResult> query_session(const ProfileSession& session, std::string_view sql, const QueryOptions& options) {
  WM_ASSIGN(const Database database, Database::create({}));
  WM_TRY(fill_tables(session, database));
  sqlite3* handle = database.handle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(handle, allow_reading, nullptr);
  Prepared prepared;
  const char* tail = nullptr;
  const std::string text(sql);
  if (sqlite3_prepare_v2(handle, text.c_str(), -1, &prepared.statement, &tail) != SQLITE_OK) return query_error(handle);
  if (prepared.statement == nullptr) return usage_error("the query is empty", kHint);
  if (!trim(tail).empty())
    return usage_error("only one query can be asked at a time", "leave out what follows the ';'");
  return fetch(handle, prepared.statement, options);
}

}  // namespace warpmark::profile
