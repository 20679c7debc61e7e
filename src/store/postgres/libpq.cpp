#include "store/postgres/libpq.h"

#include <dlfcn.h>

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
