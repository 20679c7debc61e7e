// How much of the ranks' waiting is imbalance of their own work, and how much belongs to communication.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "analyze/evidence.h"

namespace warpmark::analyze {

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
