// How much of the ranks' waiting is imbalance of their own work, and how much belongs to communication.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// Times a step. Own work of the rank that the others wait for is also what keeps its GPU idle and the others' hosts do
/// clearly less of: it loads longer, dispatches longer (as it launches more, or is slower), or waits for the GPU more
/// often. How long all hosts take is data_loading, launch_overhead and cpu_gpu_sync.
struct Imbalance {
  std::vector<double> own_ns;  ///< own work of each rank
  double late_ns = 0;       ///< that of the slowest rank beyond the median of the others, or the mean if that is more
  double mean_late_ns = 0;  ///< beyond the mean of all
  double waiting_ns = 0;    ///< longest waiting of another rank
  std::size_t latest = 0;   ///< index into Evidence::ranks
  double loading_ns = 0;    ///< of the own work of the critical rank: for loading ...
  double dispatch_ns = 0;   ///< ... for dispatching ...
  double lead_ns = 0;       ///< ... and what waits took of its host's lead
  double attributed_share = 0;  ///< of the critical rank's excess; 0 if no rank waits for it
  /// Waiting that the late rank's own work explains.
  [[nodiscard]] double explained_ns() const { return std::min(late_ns, waiting_ns); }
  /// What of a rank's waiting is imbalance.
  [[nodiscard]] double explained_ns(std::size_t rank) const {
    if (own_ns.empty()) return 0;
    return std::max(explained_ns(), std::min(own_ns[latest] - own_ns[rank], waiting_ns));
  }
  /// Of the attributed excess what kept the critical rank's host, in whatever the others wait for.
  [[nodiscard]] double attributed_host_ns() const { return (loading_ns + dispatch_ns + lead_ns) * attributed_share; }
};

/// `lost_lead_ns`: of the critical rank, see host_lead.h.
[[nodiscard]] Imbalance imbalance_of(const Facts& facts, double lost_lead_ns);

/// The upper median of all values but this one; 0 if there is no other.
[[nodiscard]] double median_without(std::vector<double> values, std::size_t left_out);

/// The same of `value(rank)` of each rank (index into Facts::ranks).
template <typename Value>
[[nodiscard]] double median_of_others(const Facts& facts, std::size_t rank, Value value) {
  std::vector<double> values;
  for (const RankEvidence& one : facts.ranks) values.push_back(value(one));
  return median_without(std::move(values), rank);
}

/// What of these parts of the late rank's own work load_imbalance attributes, ns a step, each with its share: a
/// microsecond is attributed once. idle_launch is only what the others' hosts do not take as well. 0 if no rank waits
/// for the critical one.
[[nodiscard]] double late_excess_ns(const Facts& facts, const Imbalance& imbalance, std::initializer_list<Part> parts);

}  // namespace warpmark::analyze
