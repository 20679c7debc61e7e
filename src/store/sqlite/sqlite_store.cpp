#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "store/sql/sql_store.h"

namespace warpmark::store {
namespace {

/// The version of the file, after making sure that it is ours and not newer than `newest`.
Result<std::int64_t> version_of(Database& database, std::int64_t newest) {
  WM_ASSIGN(const auto application, database.integer("PRAGMA application_id"));
  WM_ASSIGN(const auto version, database.integer("PRAGMA user_version"));
  WM_ASSIGN(const auto tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  const std::string file = database.path().string();
  const bool is_new = application == 0 && version == 0 && tables == 0;
  if (application != kApplicationId && !is_new) {
    return data_error(file + " is a SQLite database of another program", "name another file with --db or WARPMARK_DB");
  }
  if (version > newest) {
    return data_error(file + " was written by a newer warpmark (its schema is version " + std::to_string(version) +
                          ", this one knows versions up to " + std::to_string(newest) + ")",
                      "use the newer warpmark, or name another file with --db or WARPMARK_DB");
  }
  return version;
}

constexpr const char* kElsewhere =
    "name a file in a folder that you can write with --db or WARPMARK_DB, or use --no-store";

constexpr const char* kReadable = "ask its owner for the right to read it, or name another with --db or WARPMARK_DB";

/// Whether this process may write it; SQLite would only say that it could not open the file.
Status may_write(const std::filesystem::path& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
  return environment_error("cannot write to " + path.string() + ": " + std::strerror(errno), kElsewhere);
}

Status make_room_for(const std::filesystem::path& path) {
  std::error_code failure;
  const auto folder = path.parent_path();
  WM_TRY(check_folder_of(path));
  if (std::filesystem::is_directory(path, failure)) {
    return environment_error(path.string() + " is a folder, not a database", kElsewhere);
  }
  if (std::filesystem::exists(path, failure)) WM_TRY(may_write(path));
  return may_write(folder);  // the write-ahead log lies beside the file
}

bool has_commits_in_log(const std::filesystem::path& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path.string() + "-wal", none);
  return !none && bytes > 0;
}

/// As SQLite's URI. On a disk that is read-only it cannot make the index of a write-ahead log, which it is then told
/// not to look for (immutable); one that holds commits is not passed over.
std::string read_only_uri(const std::filesystem::path& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return uri + "?mode=ro" + (immutable ? "&immutable=1" : "");
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

class SqliteRow final : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  [[nodiscard]] std::int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] double number(int column) const override { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] std::string text(int column) const override {
    const auto* text = sqlite3_column_text(statement_, column);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text), size_of(column)};
  }
  [[nodiscard]] std::string_view bytes(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    if (bytes == nullptr) return {};
    return {static_cast<const char*>(bytes), size_of(column)};
  }

 private:
  [[nodiscard]] std::size_t size_of(int column) const {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  }
  sqlite3_stmt* statement_;
};

/// SQLite's GLOB also knows [sets].
std::string to_sqlite_glob(std::string_view pattern) {
  std::string glob;
  for (const char c : pattern) glob += c == '[' ? std::string("[[]") : std::string(1, c);
  return glob;
}

std::string join_each_sqlite(const std::string& table, const std::string& condition) {
  return " CROSS JOIN " + table + " ON " + condition;
}

constexpr Dialect kSqliteDialect{"CROSS JOIN", "GLOB", to_sqlite_glob, join_each_sqlite};

}  // namespace

Status migrate(Database& database, std::span<const Migration> steps) {
  const std::int64_t newest = steps.back().version;
  WM_ASSIGN(auto reading, Transaction::begin(database, Transaction::Kind::read));
  WM_ASSIGN(auto version, version_of(database, newest));
  WM_TRY(reading.commit());
  if (database.read_only()) {
    if (version == newest) return {};
    return environment_error(database.path().string() + " is of an older version and cannot be written to",
                             "copy it to a folder that you can write, and name the copy with --db");
  }
  WM_TRY(database.use_write_ahead_log());  // not before: the file might have been another program's
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
    WM_ASSIGN(version, version_of(database, newest));  // another process may have been faster
    if (step.version <= version) continue;
    for (const char* sql : {step.tables, step.sqlite}) {
      if (sql != nullptr) WM_TRY(database.script(sql));
    }
    WM_TRY(database.script("PRAGMA application_id = " + std::to_string(kApplicationId) +
                           "; PRAGMA user_version = " + std::to_string(step.version)));
    WM_TRY(transaction.commit());
    version = step.version;
  }
  return {};
}

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, const DatabaseOptions& options) {
  WM_ASSIGN(auto database, Database::open(path, options));
  WM_TRY(migrate(database, migrations()));
  return make_sql_store(std::make_unique<Database>(std::move(database)));
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
  const Status writable = make_room_for(absolute);
  const bool read_only = !writable.ok() && options.reads_only && !std::filesystem::is_directory(absolute, failure);
  if (!read_only) WM_TRY(writable);
  if (read_only && ::faccessat(AT_FDCWD, absolute.c_str(), R_OK, AT_EACCESS) != 0) {
    return environment_error("cannot read the database " + absolute.string() + ": " + std::strerror(errno), kReadable);
  }
  const bool immutable = read_only && !has_commits_in_log(absolute);
  if (immutable && options.on_immutable) {
    options.on_immutable(writable.error().what + "; the database is read as one that nobody writes (immutable=1)");
  }
  const std::string name = read_only ? read_only_uri(absolute, immutable) : absolute.string();
  const int mode = read_only ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, mode | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle, absolute, options);
  database.read_only_ = read_only;
  if (handle == nullptr) return environment_error("not enough memory to open " + absolute.string());
  if (code != SQLITE_OK) return database.error(code);
  WM_TRY(database.configure());
  return database;
}

Status Database::configure() {
  sqlite3_extended_result_codes(handle_.get(), 1);
  wait_ = std::make_unique<Wait>(Wait{static_cast<std::int64_t>(options_.busy_timeout_s * 1e9), 0});
  sqlite3_busy_handler(handle_.get(), wait_a_little, wait_.get());
  if (read_only_) return {};
  if (sqlite3_db_readonly(handle_.get(), "main") == 1) return error(SQLITE_READONLY);
  // FULL syncs every commit: results also survive the machine, which a GPU driver can take down. A commit happens
  // between rounds, where milliseconds do not matter.
  WM_TRY(script("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"));
  if (options_.max_bytes > 0) {
    WM_ASSIGN(const auto page_bytes, integer("PRAGMA page_size"));
    WM_TRY(script("PRAGMA max_page_count = " + std::to_string(options_.max_bytes / page_bytes)));
  }
  return {};
}

/// SQLite's own waiting looks every 100 ms in the end, and a writer that writes one thing after another leaves the lock
/// free for much shorter: the other one would go hungry. This looks every few milliseconds, at uneven intervals.
int Database::wait_a_little(void* wait, int attempt) {
  Wait& state = *static_cast<Wait*>(wait);
  if (attempt == 0) state.begin_ns = monotonic_ns();
  const std::int64_t waited_ns = monotonic_ns() - state.begin_ns;
  if (waited_ns >= state.limit_ns) return 0;
  sqlite3_sleep(1 + static_cast<int>(waited_ns / 1000 % 3));
  return 1;
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

Result<Database::Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.c_str(), static_cast<int>(sql.size()), &raw, nullptr);
  Statement statement(raw);
  if (code != SQLITE_OK) return error(code);
  return statement;
}

/// An idle one, else a new one: a statement may be asked for again while its rows are being used.
Result<Database::Statement> Database::take(const std::string& sql) {
  const auto found = idle_.find(sql);
  if (found == idle_.end()) return prepare(sql);
  Statement statement = std::move(found->second);
  idle_.erase(found);
  return statement;
}

void Database::give_back(const std::string& sql, Statement statement) {
  constexpr std::size_t kMostIdle = 64;
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  if (idle_.size() < kMostIdle) idle_.insert_or_assign(sql, std::move(statement));
}

Status Database::each(const std::string& sql, const SqlValues& values, const std::function<Status(const Row&)>& use) {
  WM_ASSIGN(Statement statement, take(sql));
  int code = SQLITE_OK;
  for (std::size_t i = 0; i < values.size() && code == SQLITE_OK; ++i) {
    code = bind(statement.get(), static_cast<int>(i + 1), values[i]);
  }
  if (code != SQLITE_OK) return error(code);
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) WM_TRY(use(SqliteRow(statement.get())));
  if (code != SQLITE_DONE) return error(code);
  give_back(sql, std::move(statement));
  return {};
}

Status Database::script(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Status Database::begin(TransactionKind kind) {
  return run(kind == TransactionKind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Status Database::check_references(bool on) {
  return run(on ? "PRAGMA foreign_keys = ON" : "PRAGMA foreign_keys = OFF");
}

const Dialect& Database::dialect() const { return kSqliteDialect; }

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
      if (read_only_ && has_commits_in_log(path_)) {
        return environment_error("cannot read the database " + file +
                                     ": its write-ahead log holds results, and its index " +
                                     "cannot be made in a folder that you may not write",
                                 "its owner empties the log with: warpmark history list --db " + shell_quote(file));
      }
      if (read_only_) return environment_error("cannot read the database " + file + ": " + message, kReadable);
      return environment_error("cannot write the database " + file +
                                   (system_error != 0 ? std::string(": ") + std::strerror(system_error) : ""),
                               kElsewhere);
    case SQLITE_NOMEM: return environment_error("not enough memory for the database " + file);
    default: return internal_error("the database " + file + " refused: " + message);
  }
}

std::vector<int> lock_holders_in(std::string_view proc_locks, const std::vector<std::string>& inodes) {
  // "1: POSIX  ADVISORY  WRITE 1234 08:02:393221 120 120"; "->" after the number marks one who waits, not a holder.
  std::vector<int> holders;
  for (const auto& line : split(proc_locks, '\n')) {
    auto fields = split(line, ' ');
    std::erase(fields, "");
    if (fields.size() < 8 || fields[1] == "->" || fields[3] != "WRITE") continue;
    const auto inode = fields[5].substr(fields[5].rfind(':') + 1);
    const auto process = parse_integer(fields[4]);
    if (!process.ok() || *process <= 0) continue;  // 0 and -1: outside this process namespace
    if (std::find(inodes.begin(), inodes.end(), inode) == inodes.end()) continue;
    const int id = static_cast<int>(*process);
    if (std::find(holders.begin(), holders.end(), id) == holders.end()) holders.push_back(id);
  }
  return holders;
}

std::string describe_lock_holders(const std::filesystem::path& database) {
  std::vector<std::string> inodes;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat facts {};
    if (::stat((database.string() + suffix).c_str(), &facts) == 0) inodes.push_back(std::to_string(facts.st_ino));
  }
  const auto locks = read_file("/proc/locks");
  std::vector<std::string> named;
  for (const int id : locks.ok() ? lock_holders_in(*locks, inodes) : std::vector<int>()) {
    if (id == ::getpid()) continue;
    const auto name = first_line("/proc/" + std::to_string(id) + "/comm");
    named.push_back("process " + std::to_string(id) + (name.empty() ? "" : " (" + name + ")"));
  }
  return named.empty() ? "another process" : join(named, " and ");
}

}  // namespace warpmark::store
