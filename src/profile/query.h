// SQL over a session: `warpmark analyze --query`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/profile/profile_session.h"

namespace warpmark::profile {

/// monostate is NULL; bytes come as text.
using QueryValue = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryValue>> rows;
  std::int64_t left_out = 0;  ///< rows above the limits
  bool all_counted = true;    ///< false: at least `left_out`, as counting them took longer than a second
};

struct QueryOptions {
  std::size_t most_rows = 100'000;
  std::int64_t most_bytes = 64 << 20;  ///< of the values and the names of their columns
  double most_seconds = 300;           ///< of the query itself, without filling the tables
};

/// Fills a database in memory with the tables of docs/profile-sql.md and asks it. The query is one SELECT (or WITH,
/// VALUES, EXPLAIN): it cannot write, attach files or load extensions.
/// Errors: usage for what is no such query or takes too long, and for a first row above the limit; data if SQLite
/// fails.
[[nodiscard]] Result<QueryResult> query_session(const ProfileSession& session, std::string_view sql,
                                                const QueryOptions& options = {});

}  // namespace warpmark::profile
