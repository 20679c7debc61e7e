// Documents of sessions: what verbs concluded beyond the runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/sql/sql_database.h"
#include "store/store.h"

namespace warpmark::store {

/// See Store::attach, Store::documents and Store::document.
[[nodiscard]] Status attach_document(SqlDatabase& database, const std::string& session_id, const Document& document);
[[nodiscard]] Result<std::vector<DocumentEntry>> list_documents(SqlDatabase& database, const DocumentQuery& query);
[[nodiscard]] Result<Document> load_document(SqlDatabase& database, const std::string& session_id, std::int64_t index);

}  // namespace warpmark::store
