#include "store/sqlite/sqlite_store.h"

#include "store/sql/schema.h"
#include "store/sql/sql_store.h"
#include "store/sqlite/schema.h"

namespace warpmark::store {

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, const DatabaseOptions& options) {
  WM_ASSIGN(auto database, Database::open(path, options));
  WM_TRY(migrate(database, migrations()));
  return make_sql_store(std::make_unique<Database>(std::move(database)));
}

}  // namespace warpmark::store
