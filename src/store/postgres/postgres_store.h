// The store of a team: a PostgreSQL database, with the schema and the statements of the SQLite store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/sql/sql_database.h"
#include "store/store.h"

namespace warpmark::store::libpq {

// Our own declarations of the functions of libpq that are used, loaded at run time: warpmark runs where it is not
// installed, and its libraries (TLS, Kerberos, LDAP) need not be shipped. Names, types and values are those of
// libpq-fe.h; libpq.so.5 has kept them since PostgreSQL 9.3 (documentation of PostgreSQL, chapter "libpq").

struct ConnectionTag;
struct ResultTag;
using Connection = ConnectionTag;  ///< PGconn
using Answer = ResultTag;          ///< PGresult
using Oid = unsigned;

inline constexpr int kConnectionOk = 0;  ///< CONNECTION_OK
inline constexpr int kCommandOk = 1;     ///< PGRES_COMMAND_OK
inline constexpr int kTuplesOk = 2;      ///< PGRES_TUPLES_OK
inline constexpr int kSqlState = 'C';    ///< PG_DIAG_SQLSTATE
inline constexpr int kMessage = 'M';     ///< PG_DIAG_MESSAGE_PRIMARY

inline constexpr Oid kBytea = 17;  ///< pg_type.dat
inline constexpr Oid kInt8 = 20;
inline constexpr Oid kText = 25;
inline constexpr Oid kFloat8 = 701;

using NoticeProcessor = void (*)(void*, const char*);

struct Api {
  Connection* (*connect)(const char* const* keywords, const char* const* values, int expand_dbname) = nullptr;
  int (*status)(const Connection*) = nullptr;
  const char* (*error_message)(const Connection*) = nullptr;
  void (*finish)(Connection*) = nullptr;
  const char* (*host)(const Connection*) = nullptr;
  const char* (*port)(const Connection*) = nullptr;
  const char* (*database)(const Connection*) = nullptr;
  const char* (*user)(const Connection*) = nullptr;
  const char* (*password)(const Connection*) = nullptr;
  NoticeProcessor (*set_notice_processor)(Connection*, NoticeProcessor, void*) = nullptr;
  Answer* (*execute)(Connection*, const char* sql) = nullptr;
  Answer* (*execute_with)(Connection*, const char* sql, int count, const Oid* types, const char* const* values,
                          const int* lengths, const int* formats, int result_format) = nullptr;
  Answer* (*prepare)(Connection*, const char* name, const char* sql, int count, const Oid* types) = nullptr;
  Answer* (*execute_prepared)(Connection*, const char* name, int count, const char* const* values, const int* lengths,
                              const int* formats, int result_format) = nullptr;
  int (*result_status)(const Answer*) = nullptr;
  const char* (*result_field)(const Answer*, int field) = nullptr;
  int (*rows)(const Answer*) = nullptr;
  const char* (*value)(const Answer*, int row, int column) = nullptr;
  int (*length)(const Answer*, int row, int column) = nullptr;
  int (*is_null)(const Answer*, int row, int column) = nullptr;
  void (*clear)(Answer*) = nullptr;
};

/// Environment error that says what to install if the library is not there.
[[nodiscard]] Result<Api> load();

}  // namespace warpmark::store::libpq

// A connection to PostgreSQL with our errors. Values are bound, never pasted into statements; results come in binary,
// so that every bit of a double survives. https://www.postgresql.org/docs/15/libpq.html

namespace warpmark::store {

struct PostgresOptions {
  double connect_timeout_s = 10;
  double lock_timeout_s = 10;  ///< how long to wait for another process's write
};

/// Tables are in a schema of their own, "warpmark", so that the database may be shared with other programs.
class PostgresConnection final : public SqlDatabase {
 public:
  /// `url`: postgresql://[user[:password]@]host[:port]/database[?option=value&...], as libpq knows it; what it leaves
  /// out comes from PGHOST, PGPASSWORD, ~/.pgpass and so on. Environment error that tells server, database and user,
  /// and never a password.
  [[nodiscard]] static Result<PostgresConnection> open(const std::string& url, const PostgresOptions& options);

  [[nodiscard]] Status each(const std::string& sql, const SqlValues& values,
                            const std::function<Status(const Row&)>& use) override;
  [[nodiscard]] Status script(const std::string& sql) override;
  [[nodiscard]] Status begin(TransactionKind kind) override;
  [[nodiscard]] Status check_references(bool on) override;
  [[nodiscard]] const Dialect& dialect() const override;

  /// "database results at db.example:5432 as ci", for messages.
  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  struct Finish {
    void (*finish)(libpq::Connection*);
    void operator()(libpq::Connection* connection) const { finish(connection); }
  };
  using Handle = std::unique_ptr<libpq::Connection, Finish>;
  struct Clear {
    void (*clear)(libpq::Answer*);
    void operator()(libpq::Answer* answer) const { clear(answer); }
  };
  using Answer = std::unique_ptr<libpq::Answer, Clear>;

  PostgresConnection(const libpq::Api& api, Handle handle, std::string url);
  [[nodiscard]] Status settle(const PostgresOptions& options);
  [[nodiscard]] Error connection_error() const;
  [[nodiscard]] Error error(const libpq::Answer* answer) const;
  [[nodiscard]] std::string without_password(std::string message) const;
  [[nodiscard]] Result<Answer> execute(const std::string& sql, const SqlValues& values);
  [[nodiscard]] Result<Answer> checked(Answer answer) const;

  libpq::Api api_;
  Handle handle_;
  std::string url_;
  std::string place_;
  double lock_timeout_s_ = 0;
  std::map<std::string, std::string> prepared_;  ///< names of statements that the server has parsed already
};

/// Table definitions in SQLite's words as PostgreSQL has them: wider types, keys that count by themselves, texts that
/// compare by their bytes as SQLite's do.
[[nodiscard]] std::string to_postgres(std::string_view tables);

/// Brings the schema "warpmark" to the last version of `steps`, each step in a transaction of its own; makes it if it
/// is not there. Data error for one written by a newer warpmark.
[[nodiscard]] Status migrate(PostgresConnection& database, std::span<const Migration> steps);

/// Connects and brings the schema up to date. Errors: as PostgresConnection::open; data error if a newer warpmark wrote
/// it.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres(const std::string& url, const PostgresOptions& options = {});

}  // namespace warpmark::store
