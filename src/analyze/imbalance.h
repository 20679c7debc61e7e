// How much of the ranks' waiting is imbalance of their own work, and how much belongs to communication.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "analyze/evidence.h"

namespace warpmark::analyze {

inline constexpr double kClearlyMore = 1.2;  ///< times: ranks that do the same, and their hosts, differ by less

/// For gather_evidence(), which keeps it; of everything else in the evidence.
[[nodiscard]] Imbalance imbalance_of(const Evidence& evidence);

/// The upper median of all values but this one; 0 if there is no other.
[[nodiscard]] double median_without(std::vector<double> values, std::size_t left_out);

/// The same of `value(rank)` of each rank (index into Evidence::ranks).
template <typename Value>
[[nodiscard]] double median_of_others(const Evidence& evidence, std::size_t rank, Value value) {
  std::vector<double> values;
  for (const RankEvidence& one : evidence.ranks) values.push_back(value(one));
  return median_without(std::move(values), rank);
}

/// What of these parts of the late rank's own work load_imbalance blames, ns a step, each with its share: a microsecond
/// is blamed once. idle_launch is only what the others' hosts do not take as well. 0 if no rank waits for the critical
/// one.
[[nodiscard]] double late_excess_ns(const Evidence& evidence, std::initializer_list<Part> parts);

}  // namespace warpmark::analyze
