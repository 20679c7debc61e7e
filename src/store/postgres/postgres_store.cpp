#include "store/postgres/postgres_store.h"

#include "store/postgres/schema.h"
#include "store/sql/sql_store.h"

namespace warpmark::store {

Result<std::unique_ptr<Store>> open_postgres(const std::string& url, const PostgresOptions& options) {
  WM_ASSIGN(auto connection, PostgresConnection::open(url, options));
  WM_TRY(migrate(connection, migrations()));
  return make_sql_store(std::make_unique<PostgresConnection>(std::move(connection)));
}

}  // namespace warpmark::store
