// A connection to PostgreSQL with our errors. Values are bound, never pasted into statements; results come in binary,
// so that every bit of a double survives. https://www.postgresql.org/docs/15/libpq.html
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/postgres/libpq.h"
#include "store/sql/sql_database.h"

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

}  // namespace warpmark::store
