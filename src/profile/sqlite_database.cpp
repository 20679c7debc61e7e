#include "profile/sqlite_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <utility>

namespace warpmark::profile {
namespace {

constexpr std::int64_t kStepsBetweenPolls = 64;  // at the memory in use, which takes a lock

Error wrong_length(std::string_view doing) {
  return data_error("SQLite cannot " + std::string(doing) +
                        ": the file is damaged: it gives a length that takes more memory than the whole file",
                    "export or copy it again");
}

Error sqlite_error(sqlite3* database, std::string_view doing) {
  const bool has_limit = sqlite3_hard_heap_limit64(-1) > 0;  // there is one while a file that is not trusted is open
  const int code = sqlite3_errcode(database) & 0xFF;         // which of the two depends on the version
  if (has_limit && (code == SQLITE_NOMEM || code == SQLITE_TOOBIG)) return wrong_length(doing);
  const bool no_room = code == SQLITE_FULL || (code == SQLITE_IOERR && sqlite3_db_readonly(database, "main") == 0);
  const std::string what = "SQLite cannot " + std::string(doing) + ": " + sqlite3_errmsg(database);
  return no_room ? environment_error(what, "free some disk space or choose another place") : data_error(what);
}

/// A path as the URI that SQLite wants: the file may be on a read-only disk and have no -wal file beside it.
std::string read_only_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      uri += '%';
      uri += kHex[static_cast<unsigned char>(c) >> 4];
      uri += kHex[static_cast<unsigned char>(c) & 0xF];
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro&immutable=1";
}

/// The limits are SQLite's and the process's; what they were before the first share is therefore, too.
struct HeapLimits {
  std::mutex mutex;
  int shares = 0;
  std::int64_t soft_before = 0;  ///< bytes; 0: none
  std::int64_t hard_before = 0;
};

HeapLimits& heap_limits() {
  static HeapLimits limits;
  return limits;
}

std::int64_t bytes_for(std::int64_t longest_value_bytes) {
  constexpr std::int64_t kCaches = 4 << 20;  // SQLite's pages (2 MB unless told otherwise), the schema, statements
  constexpr std::int64_t kCopies = 4;        // of one value: as it is stored, in UTF-8, and each while it grows
  return kCaches + kCopies * std::min(longest_value_bytes, kMostValueBytes);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  sqlite3_bind_double(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view value) {
  const char* text = value.empty() ? "" : value.data();  // nullptr would bind NULL
  sqlite3_bind_text64(statement_.get(), index, text, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_null(int index) {
  sqlite3_bind_null(statement_.get(), index);
  return *this;
}

Result<bool> Statement::step() {
  const bool polls = heap_share_ != nullptr && ++steps_ % kStepsBetweenPolls == 0;
  if (polls && heap_share_->is_overdrawn(longest_text_)) return wrong_length("read on");
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(sqlite3_db_handle(statement_.get()), "read on");
}

Status Statement::run() {
  const auto row = step();
  sqlite3_reset(statement_.get());
  return row.ok() ? Status() : row.error();
}

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }

std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name == nullptr ? "" : name;
}

int Statement::type(int column) const { return sqlite3_column_type(statement_.get(), column); }
bool Statement::is_null(int column) const { return type(column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::number(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  longest_text_ = std::max<std::int64_t>(longest_text_, bytes);
  return {text, static_cast<std::size_t>(bytes)};
}

Result<Database> Database::open(const std::string& name, int flags) {
  Database database;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  database.database_.reset(handle);
  if (code != SQLITE_OK) {
    return environment_error("SQLite cannot open " + name + ": " +
                             (handle == nullptr ? "out of memory" : sqlite3_errmsg(handle)));
  }
  return database;
}

Status Database::distrust(std::int64_t file_bytes) {
  heap_share_ = std::make_unique<SqliteHeapShare>(file_bytes);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_limit(handle(), SQLITE_LIMIT_ATTACHED, 0);
  return execute("PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;");
}

Result<Database> Database::open_read_only(const std::filesystem::path& path) {
  WM_ASSIGN(Database database, open(read_only_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  std::error_code failure;
  const auto file_bytes = std::filesystem::file_size(path, failure);
  if (failure) return environment_error("cannot read " + path.string() + ": " + failure.message());
  WM_TRY(database.distrust(static_cast<std::int64_t>(file_bytes)));
  return database;
}

Result<Database> Database::open_bytes(std::string bytes) {
  WM_ASSIGN(Database database, open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  database.bytes_ = std::make_unique<std::string>(std::move(bytes));
  auto* data = reinterpret_cast<unsigned char*>(database.bytes_->data());
  const auto size = static_cast<sqlite3_int64>(database.bytes_->size());
  if (sqlite3_deserialize(database.handle(), "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return sqlite_error(database.handle(), "read the database");
  }
  WM_TRY(database.distrust(size));
  return database;
}

Result<Database> Database::create(const std::filesystem::path& path) {
  const std::string name = path.empty() ? ":memory:" : path.string();
  WM_ASSIGN(Database database, open(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  // The file is written once and renamed when it is whole: no journal is needed.
  WM_TRY(database.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"));
  return database;
}

Result<std::int64_t> Database::bytes() const {
  WM_ASSIGN(Statement size, prepare("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"));
  WM_TRY(size.step());
  return size.integer(0);
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(handle(), sql.data(), static_cast<int>(sql.size()), &prepared, nullptr);
  Statement statement;
  statement.statement_.reset(prepared);
  statement.heap_share_ = heap_share_.get();
  if (code != SQLITE_OK) return sqlite_error(handle(), "prepare a query");
  return statement;
}

Status Database::execute(const char* sql) const {
  if (sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return sqlite_error(handle(), "run a command");
  return {};
}

SqliteHeapShare::SqliteHeapShare(std::int64_t file_bytes) : bytes_(bytes_for(file_bytes)) {
  HeapLimits& limits = heap_limits();
  const std::lock_guard lock(limits.mutex);
  std::int64_t granted = sqlite3_memory_used();
  if (limits.shares++ == 0) {
    limits.soft_before = sqlite3_soft_heap_limit64(-1);
    limits.hard_before = sqlite3_hard_heap_limit64(-1);
  } else {
    granted = sqlite3_hard_heap_limit64(-1);
  }
  sqlite3_hard_heap_limit64(granted + bytes_);
}

SqliteHeapShare::~SqliteHeapShare() {
  HeapLimits& limits = heap_limits();
  const std::lock_guard lock(limits.mutex);
  if (--limits.shares > 0) return;
  sqlite3_hard_heap_limit64(limits.hard_before);
  sqlite3_soft_heap_limit64(limits.soft_before);  // which a hard limit lowers
}

bool SqliteHeapShare::is_overdrawn(std::int64_t longest_value_bytes) const {
  return sqlite3_memory_used() > sqlite3_hard_heap_limit64(-1) - (bytes_ - bytes_for(longest_value_bytes));
}

}  // namespace warpmark::profile
