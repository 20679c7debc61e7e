// How much of the ranks' waiting is imbalance of their own work, and how much belongs to communication.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "analyze/evidence.h"

namespace warpmark::analyze {

inline constexpr double kClearlyMore = 1.2;  ///< times: ranks that do the same, and their hosts, differ by less

/// Times a step. A host that clearly dispatches longer than the others' do, as it launches more or is slower, makes its
/// rank late as more work does: the GPU's idle time for that is own work here. How long all take is launch_overhead.
struct Imbalance {
  std::vector<double> own_ns;  ///< own work of each rank
  double late_ns = 0;          ///< that of the slowest rank beyond the median of the others
  double mean_late_ns = 0;     ///< beyond the mean of all
  double waiting_ns = 0;       ///< longest waiting of a rank
  std::size_t latest = 0;      ///< index into Evidence::ranks
  /// Waiting that the late rank's own work explains.
  [[nodiscard]] double explained_ns() const { return std::min(late_ns, waiting_ns); }
};

[[nodiscard]] Imbalance imbalance_of(const Evidence& evidence);

/// Of `value` of each rank but this one (index into Evidence::ranks); 0 if there is no other.
template <typename Value>
[[nodiscard]] double median_of_others(const Evidence& evidence, std::size_t rank, Value value) {
  std::vector<double> others;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    if (r != rank) others.push_back(value(evidence.ranks[r]));
  }
  std::sort(others.begin(), others.end());
  return others.empty() ? 0 : others[others.size() / 2];
}

/// What of these parts of the late rank's own work load_imbalance blames, ns a step, each with its share: a microsecond
/// is blamed once. 0 if no rank waits for the critical one.
[[nodiscard]] double late_excess_ns(const Evidence& evidence, std::initializer_list<Part> parts);

/// The same of its idle time for dispatching longer than the others.
[[nodiscard]] double late_dispatch_ns(const Evidence& evidence);

/// What of each rank's waiting for the critical one is that one's host, which dispatched its own kernels later since
/// both last met, or its worker processes, ns a step: neither communication nor more work, but launch_overhead,
/// optimizer, data_loading or the recording of that rank.
[[nodiscard]] std::vector<double> waiting_for_dispatch_ns(const Evidence& evidence);

}  // namespace warpmark::analyze
