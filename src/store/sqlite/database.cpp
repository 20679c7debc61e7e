#include "store/sqlite/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "store/sqlite/lock_holders.h"

namespace warpmark::store {
namespace {

constexpr const char* kElsewhere =
    "name a file in a folder that you can write with --db or WARPMARK_DB, or use --no-store";

/// Whether this process may write it; SQLite would only say that it could not open the file.
Status may_write(const std::filesystem::path& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
  return environment_error("cannot write to " + path.string() + ": " + std::strerror(errno), kElsewhere);
}

Status make_room_for(const std::filesystem::path& path) {
  std::error_code failure;
  const auto folder = path.parent_path();
  std::filesystem::create_directories(folder, failure);
  if (failure && !std::filesystem::is_directory(folder)) {
    return environment_error("cannot create the folder " + folder.string() + ": " + failure.message(), kElsewhere);
  }
  if (std::filesystem::is_directory(path, failure)) {
    return environment_error(path.string() + " is a folder, not a database", kElsewhere);
  }
  if (std::filesystem::exists(path, failure)) WM_TRY(may_write(path));
  return may_write(folder);  // the write-ahead log lies beside the file
}

int bind(sqlite3_stmt* statement, int position, const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, position, *integer);
  if (const auto* number = std::get_if<double>(&value)) {
    // SQLite has no NaN: it would become NULL without a word.
    return std::isnan(*number) ? sqlite3_bind_null(statement, position)
                               : sqlite3_bind_double(statement, position, *number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, position, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  if (const auto* blob = std::get_if<Blob>(&value)) {
    const auto bytes = blob->bytes.empty() ? std::string_view("") : blob->bytes;  // a null pointer would mean NULL
    return sqlite3_bind_blob64(statement, position, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  }
  return sqlite3_bind_null(statement, position);
}

}  // namespace

bool Row::null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t Row::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Row::number(int column) const { return sqlite3_column_double(statement_, column); }

std::string Row::text(int column) const {
  const auto* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Row::bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(sqlite3* handle, std::filesystem::path path, const DatabaseOptions& options)
    : handle_(handle), path_(std::move(path)), options_(options) {}

Result<Database> Database::open(const std::filesystem::path& path, const DatabaseOptions& options) {
  // Absolute, so that a file named ":memory:" is a file, and that a later chdir does not matter.
  std::error_code failure;
  const auto absolute = std::filesystem::absolute(path, failure);
  if (failure) return environment_error("cannot open " + path.string() + ": " + failure.message(), kElsewhere);
  WM_TRY(make_room_for(absolute));
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(absolute.c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(handle, absolute, options);
  if (handle == nullptr) return environment_error("not enough memory to open " + absolute.string());
  if (code != SQLITE_OK) return database.error(code);
  WM_TRY(database.configure());
  return database;
}

Status Database::configure() {
  sqlite3_extended_result_codes(handle_.get(), 1);
  sqlite3_busy_timeout(handle_.get(), static_cast<int>(options_.busy_timeout_s * 1000));
  if (sqlite3_db_readonly(handle_.get(), "main") == 1) return error(SQLITE_READONLY);
  // FULL syncs every commit: results also survive the machine, which a GPU driver can take down. A commit happens
  // between rounds, where milliseconds do not matter.
  WM_TRY(script("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"));
  if (options_.max_bytes > 0) {
    WM_ASSIGN(const auto page_bytes, integer("PRAGMA page_size"));
    WM_TRY(script(("PRAGMA max_page_count = " + std::to_string(options_.max_bytes / page_bytes)).c_str()));
  }
  return {};
}

Status Database::use_write_ahead_log() {
  // Where the file system cannot do WAL, SQLite stays with its rollback journal: slower, and as safe. The change needs
  // the file for itself and does not always wait for it, so wait here.
  const std::int64_t deadline_ns = monotonic_ns() + static_cast<std::int64_t>(options_.busy_timeout_s * 1e9);
  while (true) {
    const int code = sqlite3_exec(handle_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return {};
    if ((code & 0xFF) != SQLITE_BUSY || monotonic_ns() >= deadline_ns) return error(code);
    sqlite3_sleep(10);
  }
}

Result<Database::Statement> Database::prepare(const std::string& sql, const SqlValues& values) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(handle_.get(), sql.c_str(), static_cast<int>(sql.size()), &raw, nullptr);
  Statement statement(raw);
  if (code != SQLITE_OK) return error(code);
  for (std::size_t i = 0; i < values.size(); ++i) {
    code = bind(raw, static_cast<int>(i + 1), values[i]);
    if (code != SQLITE_OK) return error(code);
  }
  return statement;
}

Status Database::run(const char* sql, const SqlValues& values) {
  return each(sql, values, [](const Row&) { return Status(); });
}

Status Database::each(const std::string& sql, const SqlValues& values, const std::function<Status(const Row&)>& use) {
  WM_ASSIGN(const Statement statement, prepare(sql, values));
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) WM_TRY(use(Row(statement.get())));
  if (code != SQLITE_DONE) return error(code);
  return {};
}

Status Database::script(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<std::int64_t> Database::integer(const char* sql, const SqlValues& values) {
  std::int64_t first = 0;
  bool found = false;
  WM_TRY(each(sql, values, [&](const Row& row) {
    if (!std::exchange(found, true)) first = row.integer(0);
    return Status();
  }));
  return first;
}

std::int64_t Database::last_key() const { return sqlite3_last_insert_rowid(handle_.get()); }

Error Database::error(int code) const {
  const std::string file = path_.string();
  const int system_error = sqlite3_system_errno(handle_.get());
  const std::string message = sqlite3_errmsg(handle_.get());
  const bool no_space = system_error == ENOSPC || system_error == EDQUOT;
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return environment_error(fmt::format("the database {} is locked by {}; gave up after {:g} s", file,
                                           describe_lock_holders(path_), options_.busy_timeout_s),
                               "end that process or wait for it; --db FILE or WARPMARK_DB names another database");
    case SQLITE_IOERR:
      if (!no_space) {
        return environment_error("cannot read or write " + file + ": " + message +
                                     (system_error != 0 ? std::string(" (") + std::strerror(system_error) + ")" : ""),
                                 kElsewhere);
      }
      [[fallthrough]];
    case SQLITE_FULL:
      return environment_error("cannot write to " + file + ": " +
                                   (options_.max_bytes > 0 && !no_space
                                        ? fmt::format("it has reached its limit of {} bytes", options_.max_bytes)
                                        : "the disk is full"),
                               "free some space there, or name a file on another disk with --db or WARPMARK_DB");
    case SQLITE_NOTADB:
      return data_error(file + " is not a warpmark database", "name another file with --db or WARPMARK_DB");
    case SQLITE_CORRUPT:
      return data_error("the database " + file + " is damaged: " + message,
                        "move it away to start a new one; 'sqlite3 FILE .recover' saves what can be read");
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return environment_error("cannot write the database " + file +
                                   (system_error != 0 ? std::string(": ") + std::strerror(system_error) : ""),
                               kElsewhere);
    case SQLITE_NOMEM: return environment_error("not enough memory for the database " + file);
    default: return internal_error("the database " + file + " refused: " + message);
  }
}

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  WM_TRY(database.run(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN"));
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
