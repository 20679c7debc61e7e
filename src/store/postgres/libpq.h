// Our own declarations of the functions of libpq that are used, loaded at run time: warpmark runs where it is not
// installed, and its libraries (TLS, Kerberos, LDAP) need not be shipped. Names, types and values are those of
// libpq-fe.h; libpq.so.5 has kept them since PostgreSQL 9.3 (documentation of PostgreSQL, chapter "libpq").
#pragma once

#include "base/result.h"

namespace warpmark::store::libpq {

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
