// RunQuery as SQL.
#pragma once

#include <cstdint>
#include <vector>

#include "store/sql/sql_database.h"
#include "store/store.h"

namespace warpmark::store {

/// Condition on sessions s; its value is given twice.
inline constexpr const char* kCommitBeginsWith = " AND substr(s.commit_id, 1, length(?)) = ?";

/// See Store::find. With fewer than `many_cases` matching cases it reads the points of each; they may all be old. With
/// more it walks all runs from the newest on, as those are likely theirs. Where nearly all points
/// are wanted it reads them in the order of their table. All three give the same.
[[nodiscard]] Result<std::vector<RunPoint>> find_points(SqlDatabase& database, const RunQuery& query,
                                                        std::int64_t many_cases = 500);

/// See Store::series.
[[nodiscard]] Result<PointTable> all_series(SqlDatabase& database);

}  // namespace warpmark::store
