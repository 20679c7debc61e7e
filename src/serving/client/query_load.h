// Queries to something in this process that infers, as MLPerf's LoadGen sends them to the system under test: one after
// another, at times decided before, or all at once. One query is inferred at a time, or as many as are due up to a
// limit; the others wait in a line, and their latency counts from when they were due.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "serving/client/load_plan.h"

namespace warpmark::serving {

struct QueryPlan {
  std::int64_t samples_per_query = 1;
  std::int64_t least_queries = 1;    ///< one after another: not fewer
  double least_duration_s = 0;       ///< and not shorter
  std::vector<std::int64_t> due_ns;  ///< after the start, ascending; if there are none, one after another
  std::int64_t most_batched = 1;     ///< of due_ns: queries that are inferred together where so many are due
  std::int64_t all_at_once = 0;      ///< samples that are due at the start, taken samples_per_query at a time
  std::string records_file;          ///< as LoadPlan
  const std::atomic<bool>* interrupted = nullptr;
};

/// `infer` answers so many queries and comes back when it is done; its first error ends the load. A record a sample:
/// those of a query were due at the same time. How late a query was sent to an idle `infer` is our own lag.
[[nodiscard]] Result<LoadOutcome> run_queries(const QueryPlan& plan, const std::function<Status(std::int64_t)>& infer);

}  // namespace warpmark::serving
