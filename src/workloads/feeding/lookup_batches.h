// Batches of lookups in several tables, by Zipf's law: what recommenders ask of their embeddings (26 tables of
// categories in the Criteo data and MLPerf's DLRM).
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/feeding/cached_lookups.h"

namespace warpmark::workloads {

struct LookupLaw {
  double skew = 1;   ///< row of rank i is asked for with odds 1 / (i + 1)^skew
  double drift = 0;  ///< this share of a table's rows changes places with others in a pass, pair by pair
  std::uint64_t seed = 0;
};

/// Rows of batch `batch`, as CachedLookups::take_batch takes them. Pure.
[[nodiscard]] std::vector<std::int32_t> lookup_batch(const CachedShape& shape, const LookupLaw& law, std::size_t batch);

/// Share of the lookups that hit where of each table the `held_of_each` rows with the highest odds are there: what a
/// cache that knew the odds would reach.
[[nodiscard]] double zipf_hit_rate(double rows, double held_of_each, double skew);

}  // namespace warpmark::workloads
