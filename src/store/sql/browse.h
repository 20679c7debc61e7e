// Lists for people who look around: runs whatever became of them, cases, hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/sql/sql_database.h"
#include "store/store.h"

namespace warpmark::store {

/// See Store::runs, Store::run, Store::cases and Store::hosts.
[[nodiscard]] Result<std::vector<RunPoint>> list_runs(SqlDatabase& database, const RunListQuery& query);
[[nodiscard]] Result<Run> load_run(SqlDatabase& database, const std::string& session_id, std::int64_t index);
[[nodiscard]] Result<std::vector<CaseEntry>> list_cases(SqlDatabase& database);
[[nodiscard]] Result<std::vector<HostEntry>> list_hosts(SqlDatabase& database);

/// A LIKE pattern, with '!' as its escape, for texts that hold this one.
[[nodiscard]] std::string holds_pattern(const std::string& text);

/// See Store::attach, Store::documents and Store::document.
[[nodiscard]] Status attach_document(SqlDatabase& database, const std::string& session_id, const Document& document);
[[nodiscard]] Result<std::vector<DocumentEntry>> list_documents(SqlDatabase& database, const DocumentQuery& query);
[[nodiscard]] Result<Document> load_document(SqlDatabase& database, const std::string& session_id, std::int64_t index);

}  // namespace warpmark::store
