#include "store/sql/sql_database.h"

#include <utility>

namespace warpmark::store {

Status SqlDatabase::run(const std::string& sql, const SqlValues& values) {
  return each(sql, values, [](const Row&) { return Status(); });
}

Result<std::int64_t> SqlDatabase::integer(const std::string& sql, const SqlValues& values) {
  std::int64_t first = 0;
  bool found = false;
  WM_TRY(each(sql, values, [&](const Row& row) {
    if (!std::exchange(found, true)) first = row.integer(0);
    return Status();
  }));
  return first;
}

Result<Transaction> Transaction::begin(SqlDatabase& database, Kind kind) {
  WM_TRY(database.begin(kind));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  // Some errors (a full disk) have rolled back already; then this one says so, and nothing is lost by ignoring it.
  static_cast<void>(database_->run("ROLLBACK").ok());
}

Status Transaction::commit() {
  WM_TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace warpmark::store
