// The Store over a database that speaks SQL: the same statements and the same schema for SQLite and PostgreSQL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/sql/sql_database.h"
#include "store/store.h"

namespace warpmark::store {

/// The database must have the newest schema (sql/sql_database.h).
[[nodiscard]] std::unique_ptr<Store> make_sql_store(std::unique_ptr<SqlDatabase> database);

/// Condition on sessions s; its value is given twice.
inline constexpr const char* kCommitBeginsWith = " AND substr(s.commit_id, 1, length(?)) = ?";

/// See Store::find. With fewer than `many_cases` matching cases it reads the points of each; they may all be old. With
/// more it walks all runs from the newest on, as those are likely theirs. Where nearly all points
/// are wanted it reads them in the order of their table. All three give the same.
[[nodiscard]] Result<std::vector<RunPoint>> find_points(SqlDatabase& database, const RunQuery& query,
                                                        std::int64_t many_cases = 500);

/// See Store::series.
[[nodiscard]] Result<PointTable> all_series(SqlDatabase& database);

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
