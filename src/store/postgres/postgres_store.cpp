#include "store/postgres/postgres_store.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/untrusted/input.h"
#include "store/location.h"
#include "store/sql/sql_store.h"

namespace warpmark::store {
namespace {

/// 0 where there is no schema yet.
Result<std::int64_t> version_of(PostgresConnection& database) {
  // Not to be seen is not the same as not being there. One statement asks for both, as another process may be making
  // the schema: two would see it before and after.
  WM_ASSIGN(const auto state,
            database.integer("SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM pg_namespace n JOIN pg_class c ON "
                             "c.relnamespace = n.oid WHERE n.nspname = 'warpmark' AND c.relname = 'schema_version') "
                             "THEN 0 WHEN EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = "
                             "'warpmark' AND table_name = 'schema_version') THEN 1 ELSE 2 END"));
  if (state == 0) return 0;
  if (state == 2) {
    return environment_error("the " + database.place() + " does not permit to read the schema warpmark",
                             "an administrator can: GRANT USAGE ON SCHEMA warpmark TO ...; GRANT SELECT, INSERT, "
                             "DELETE, UPDATE ON ALL TABLES IN SCHEMA warpmark TO ...");
  }
  return database.integer("SELECT version FROM schema_version");
}

Status apply(PostgresConnection& database, const Migration& step) {
  if (step.tables != nullptr) WM_TRY(database.script(to_postgres(step.tables)));
  if (step.postgres != nullptr) WM_TRY(database.script(step.postgres));
  return database.run("UPDATE schema_version SET version = ?", {step.version});
}

Status make_schema(PostgresConnection& database) {
  WM_ASSIGN(const auto known, database.integer("SELECT count(*) FROM pg_namespace WHERE nspname = 'warpmark'"));
  if (known == 0) WM_TRY(database.script("CREATE SCHEMA warpmark"));
  return database.script(
      "CREATE TABLE schema_version (version BIGINT NOT NULL); INSERT INTO schema_version VALUES (0)");
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres(const std::string& url, const PostgresOptions& options) {
  WM_ASSIGN(auto connection, PostgresConnection::open(url, options));
  WM_TRY(migrate(connection, migrations()));
  return make_sql_store(std::make_unique<PostgresConnection>(std::move(connection)));
}

std::string to_postgres(std::string_view tables) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"key INTEGER PRIMARY KEY", "key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
      {"INTEGER", "BIGINT"},
      {"REAL", "DOUBLE PRECISION"},
      {"BLOB", "BYTEA"},
      {" WITHOUT ROWID", ""},
      {"TEXT", "TEXT COLLATE \"C\""},
  };
  std::string text(tables);
  for (const auto& [from, to] : kWords) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

Status migrate(PostgresConnection& database, std::span<const Migration> steps) {
  const std::int64_t newest = steps.back().version;
  WM_ASSIGN(auto version, version_of(database));
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
    WM_ASSIGN(version, version_of(database));  // another process may have been faster
    if (step.version <= version) continue;
    if (version == 0 && step.version == steps.front().version) WM_TRY(make_schema(database));
    WM_TRY(apply(database, step));
    WM_TRY(transaction.commit());
    version = step.version;
  }
  if (version <= newest) return {};
  return data_error("the " + database.place() + " was written by a newer warpmark (its schema is version " +
                        std::to_string(version) + ", this one knows versions up to " + std::to_string(newest) + ")",
                    "use the newer warpmark, or name another database with --db or WARPMARK_DB");
}

namespace {

/// Taken by every writer for its transaction: "WPMK".
constexpr std::int64_t kWriteLock = 0x57504D4B;
// Of queries only some kinds recur; what a long-lived process asks with ever other conditions is not kept.
constexpr std::size_t kMostPrepared = 200;

std::uint64_t big_endian(const char* bytes, int length) {
  std::uint64_t value = 0;
  for (int i = 0; i < length; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

class PostgresRow final : public Row {
 public:
  PostgresRow(const libpq::Api& api, const libpq::Answer* answer, int row) : api_(api), answer_(answer), row_(row) {}
  [[nodiscard]] bool null(int column) const override { return api_.is_null(answer_, row_, column) != 0; }
  [[nodiscard]] std::int64_t integer(int column) const override {
    const auto text = bytes(column);
    const std::uint64_t value = big_endian(text.data(), static_cast<int>(text.size()));
    return text.size() == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
  }
  [[nodiscard]] double number(int column) const override {
    const auto text = bytes(column);
    return text.size() == 8 ? std::bit_cast<double>(big_endian(text.data(), 8)) : 0;
  }
  [[nodiscard]] std::string text(int column) const override { return std::string(bytes(column)); }
  [[nodiscard]] std::string_view bytes(int column) const override {
    return {api_.value(answer_, row_, column), static_cast<std::size_t>(api_.length(answer_, row_, column))};
  }

 private:
  const libpq::Api& api_;
  const libpq::Answer* answer_;
  int row_;
};

/// Values as libpq wants them: all in binary, with their types, so that nothing depends on how a text is read.
class Parameters {
 public:
  explicit Parameters(const SqlValues& given) {
    numbers_.reserve(given.size());
    for (const SqlValue& value : given) std::visit([&](const auto& one) { add(one); }, value);
  }
  [[nodiscard]] int count() const { return static_cast<int>(types.size()); }

  std::vector<libpq::Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths, formats;

 private:
  void add(std::nullptr_t) { push(0, nullptr, 0); }
  void add(std::int64_t value) { push_number(libpq::kInt8, static_cast<std::uint64_t>(value)); }
  void add(double value) { push_number(libpq::kFloat8, std::bit_cast<std::uint64_t>(value)); }
  void add(const std::string& value) { push(libpq::kText, value.c_str(), value.size()); }
  void add(const Blob& value) {
    push(libpq::kBytea, value.bytes.empty() ? "" : value.bytes.data(), value.bytes.size());
  }
  void push_number(libpq::Oid type, std::uint64_t bits) {
    auto& bytes = numbers_.emplace_back();  // does not move the others: reserved
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bits >> (56 - 8 * i) & 0xFF);
    push(type, bytes.data(), bytes.size());
  }
  void push(libpq::Oid type, const char* bytes, std::size_t size) {
    types.push_back(type);
    values.push_back(bytes);
    lengths.push_back(static_cast<int>(size));
    formats.push_back(1);
  }

  std::vector<std::array<char, 8>> numbers_;
};

/// '?' as $1, $2, ... Our statements have no '?' in texts.
std::string numbered(const std::string& sql) {
  std::string out;
  int number = 0;
  for (const char letter : sql) out += letter == '?' ? "$" + std::to_string(++number) : std::string(1, letter);
  return out;
}

/// As a regular expression over the whole text.
std::string to_regular_expression(std::string_view glob) {
  std::string pattern = "^(?:";
  for (const char letter : glob) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || is_digit(letter) ||
                       letter == '_' || static_cast<unsigned char>(letter) >= 0x80;
    pattern += letter == '*' ? ".*" : letter == '?' ? "." : plain ? std::string(1, letter) : std::string("\\") + letter;
  }
  return pattern + ")$";
}

/// PostgreSQL takes conditions on several columns for independent, expects next to no row, and joins everything before
/// it looks for the newest. OFFSET 0 keeps it from taking the lookup apart.
std::string join_each_postgres(const std::string& table, const std::string& condition) {
  const std::string name = table.substr(table.rfind(' '));
  return " CROSS JOIN LATERAL (SELECT * FROM " + table + " WHERE " + condition + " OFFSET 0)" + name;
}

constexpr Dialect kPostgresDialect{"JOIN", "~", to_regular_expression, join_each_postgres};

void ignore_notice(void*, const char*) {}

std::string first_line(std::string_view message) { return std::string(trim(message.substr(0, message.find('\n')))); }

}  // namespace

PostgresConnection::PostgresConnection(const libpq::Api& api, Handle handle, std::string url)
    : api_(api), handle_(std::move(handle)), url_(std::move(url)) {}

Result<PostgresConnection> PostgresConnection::open(const std::string& url, const PostgresOptions& options) {
  WM_ASSIGN(const auto api, libpq::load());
  const std::string timeout = fmt::format("{:.0f}", options.connect_timeout_s);
  // What comes first is the default, what comes after the URL cannot be changed by it.
  const std::array<const char*, 6> keywords{
      "connect_timeout", "fallback_application_name", "dbname", "client_encoding", nullptr, nullptr};
  const std::array<const char*, 6> values{timeout.c_str(), "warpmark", url.c_str(), "UTF8", nullptr, nullptr};
  PostgresConnection connection(api, Handle(api.connect(keywords.data(), values.data(), 1), Finish{api.finish}), url);
  if (connection.handle_ == nullptr) return environment_error("not enough memory to connect to PostgreSQL");
  libpq::Connection* const raw = connection.handle_.get();
  if (api.status(raw) != libpq::kConnectionOk) return connection.connection_error();
  const auto text = [](const char* part) { return std::string(part == nullptr ? "" : part); };
  connection.place_ = fmt::format("database {} at {}:{} as {}", text(api.database(raw)), text(api.host(raw)),
                                  text(api.port(raw)), text(api.user(raw)));
  WM_TRY(connection.settle(options));
  return connection;
}

Status PostgresConnection::settle(const PostgresOptions& options) {
  api_.set_notice_processor(handle_.get(), ignore_notice, nullptr);
  lock_timeout_s_ = options.lock_timeout_s;
  // Our queries end after some milliseconds: compiling them, or starting processes for them, takes longer.
  return script(
      fmt::format("SET search_path = warpmark; SET standard_conforming_strings = on; "
                  "SET synchronous_commit = on; SET jit = off; SET max_parallel_workers_per_gather = 0; "
                  "SET lock_timeout = {:.0f}",
                  options.lock_timeout_s * 1000));
}

std::string PostgresConnection::without_password(std::string message) const {
  const char* password = api_.password(handle_.get());
  return hide_password(hide_secret(std::move(message), password == nullptr ? "" : password));
}

Error PostgresConnection::connection_error() const {
  // libpq gives no codes for these; its texts, in English or the server's language, say what it is.
  const std::string shown = hide_password(url_);
  std::string message = api_.error_message(handle_.get());
  const auto has = [&](std::string_view words) { return message.find(words) != std::string::npos; };
  const bool is_malformed = has("invalid percent-encoded") || has("invalid URI") || has("missing \"=\"") ||
                            has("unexpected character") || has("end of string reached");
  if (is_malformed) {  // the message may quote the password
    return usage_error(shown + " is no address of a PostgreSQL database",
                       "postgresql://user@host:5432/database; in a password write '@' as %40, '/' as %2F, '%' as %25");
  }
  const std::string what = "cannot connect to " + shown + ": " + first_line(without_password(std::move(message)));
  message = api_.error_message(handle_.get());
  if (has("password authentication failed") || has("no password supplied")) {
    return environment_error(what, "set the password in PGPASSWORD or in ~/.pgpass (chmod 600)");
  }
  if (has("role \""))
    return environment_error(what, "name a user that the server knows: postgresql://user@host/database");
  if (has("database \"")) return environment_error(what, "create it with: createdb NAME, or name another one");
  if (has("no pg_hba.conf entry") || has("Peer authentication failed")) {
    return environment_error(what, "the server does not let this user in from here: see its pg_hba.conf");
  }
  return environment_error(what, "is the server running, and are host and port right? --db FILE keeps results locally");
}

Error PostgresConnection::error(const libpq::Answer* answer) const {
  const char* code = answer == nullptr ? nullptr : api_.result_field(answer, libpq::kSqlState);
  const char* primary = answer == nullptr ? nullptr : api_.result_field(answer, libpq::kMessage);
  const std::string state = code == nullptr ? "" : code;
  const std::string message =
      first_line(without_password(primary == nullptr ? api_.error_message(handle_.get()) : primary));
  const std::string at = "the " + place_;
  if (state == "55P03") {
    return environment_error(fmt::format("{} is locked by another process; gave up after {:g} s", at, lock_timeout_s_),
                             "wait for that process; SELECT * FROM pg_stat_activity names it");
  }
  if (state == "42501" || state == "25006") {
    return environment_error(at + " does not permit it: " + message,
                             "an administrator can: GRANT CREATE ON DATABASE ... TO ...; or ALL ON SCHEMA warpmark");
  }
  if (state.starts_with("53")) return environment_error(at + " is out of room: " + message, "see the server's log");
  const bool is_lost = api_.status(handle_.get()) != libpq::kConnectionOk;
  if (is_lost || state.starts_with("57P") || state.starts_with("08")) {
    return environment_error("the connection to " + at + " was lost: " + message,
                             "what was stored stays; try again when the server is back");
  }
  return internal_error(at + " refused: " + message + (state.empty() ? "" : " (" + state + ")"));
}

Result<PostgresConnection::Answer> PostgresConnection::execute(const std::string& sql, const SqlValues& values) {
  for (const SqlValue& value : values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && text->find('\0') != std::string::npos) {
      return data_error("a text with a zero byte cannot be stored in PostgreSQL");
    }
  }
  const Parameters parameters(values);
  auto known = prepared_.find(sql);
  if (known == prepared_.end() && prepared_.size() < kMostPrepared) {
    const std::string name = fmt::format("warpmark_{}", prepared_.size());
    WM_TRY(checked(
        {api_.prepare(handle_.get(), name.c_str(), numbered(sql).c_str(), parameters.count(), parameters.types.data()),
         Clear{api_.clear}}));
    known = prepared_.emplace(sql, name).first;
  }
  if (known == prepared_.end()) {
    return checked(
        {api_.execute_with(handle_.get(), numbered(sql).c_str(), parameters.count(), parameters.types.data(),
                           parameters.values.data(), parameters.lengths.data(), parameters.formats.data(), 1),
         Clear{api_.clear}});
  }
  return checked(
      {api_.execute_prepared(handle_.get(), known->second.c_str(), parameters.count(), parameters.values.data(),
                             parameters.lengths.data(), parameters.formats.data(), 1),
       Clear{api_.clear}});
}

Result<PostgresConnection::Answer> PostgresConnection::checked(Answer answer) const {
  const int status = answer == nullptr ? -1 : api_.result_status(answer.get());
  if (status != libpq::kCommandOk && status != libpq::kTuplesOk) return error(answer.get());
  return answer;
}

Status PostgresConnection::each(const std::string& sql, const SqlValues& values,
                                const std::function<Status(const Row&)>& use) {
  WM_ASSIGN(const Answer answer, execute(sql, values));
  const int rows = api_.rows(answer.get());
  for (int row = 0; row < rows; ++row) WM_TRY(use(PostgresRow(api_, answer.get(), row)));
  return {};
}

Status PostgresConnection::script(const std::string& sql) {
  const Answer answer(api_.execute(handle_.get(), sql.c_str()), Clear{api_.clear});
  const int status = answer == nullptr ? -1 : api_.result_status(answer.get());
  if (status != libpq::kCommandOk && status != libpq::kTuplesOk) return error(answer.get());
  return {};
}

Status PostgresConnection::begin(TransactionKind kind) {
  if (kind == TransactionKind::read) return script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  WM_TRY(script("BEGIN"));
  const Status locked = run("SELECT pg_advisory_xact_lock(?)", {kWriteLock});
  if (!locked.ok()) static_cast<void>(script("ROLLBACK").ok());
  return locked;
}

Status PostgresConnection::check_references(bool) { return {}; }  // every reference that is left has its index

const Dialect& PostgresConnection::dialect() const { return kPostgresDialect; }

}  // namespace warpmark::store

namespace warpmark::store::libpq {

Result<Api> load() {
  void* library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);  // stays loaded
  if (library == nullptr) {
    return environment_error("PostgreSQL's client library (libpq.so.5) was not found",
                             "install it: the package libpq5 of Debian and Ubuntu, libpq or postgresql-libs elsewhere");
  }
  Api api;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(api.connect, "PQconnectdbParams");
  find(api.status, "PQstatus");
  find(api.error_message, "PQerrorMessage");
  find(api.finish, "PQfinish");
  find(api.host, "PQhost");
  find(api.port, "PQport");
  find(api.database, "PQdb");
  find(api.user, "PQuser");
  find(api.password, "PQpass");
  find(api.set_notice_processor, "PQsetNoticeProcessor");
  find(api.execute, "PQexec");
  find(api.execute_with, "PQexecParams");
  find(api.prepare, "PQprepare");
  find(api.execute_prepared, "PQexecPrepared");
  find(api.result_status, "PQresultStatus");
  find(api.result_field, "PQresultErrorField");
  find(api.rows, "PQntuples");
  find(api.value, "PQgetvalue");
  find(api.length, "PQgetlength");
  find(api.is_null, "PQgetisnull");
  find(api.clear, "PQclear");
  if (!complete) return environment_error("libpq.so.5 lacks functions of PostgreSQL 9.3", "install a newer one");
  return api;
}

}  // namespace warpmark::store::libpq
