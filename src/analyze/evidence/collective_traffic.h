// Collectives of a profile in the terms of a communication benchmark: bytes, time, and bus bandwidth, which is
// comparable with the links' rate whatever the number of ranks (nccl-tests, "Performance reported by NCCL tests").
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// What a recording tells of the messages that its communication kernels sent. The timeline outlives it.
class DescribedCollectives {
 public:
  explicit DescribedCollectives(const Timeline& timeline);
  /// Newer recordings describe the kernel, older ones the operator that launched it. nullptr if none does.
  [[nodiscard]] const Collective* of(const GpuWork& work, const WorkList& list) const;

 private:
  std::unordered_map<EventIndex, const Collective*> by_event_;
};

/// Equal collectives in the analyzed steps of one rank.
struct CollectiveTraffic {
  std::string collective;  ///< "all_reduce", "all_gather", ..., as nccl-tests call them
  std::string data_type;
  int ranks = 0;             ///< 0 if unknown
  double bytes = 0;          ///< of one call, as nccl-tests count them
  std::int64_t count = 0;    ///< over all analyzed steps
  double median_s = 0;       ///< includes waiting for late ranks
  double fastest_s = 0;      ///< of the call that waited least, on whichever rank of the program
  double bus_bandwidth = 0;  ///< B/s, of the fastest; 0 where the number of ranks or the kind is unknown
};

/// Largest first. Kernels whose message the recording does not describe are left out.
/// Those of a rank; how fast a call can be tells the rank of its program that came last to it, and waited for nobody.
[[nodiscard]] std::vector<CollectiveTraffic> collective_traffic(const Facts& facts, const RankEvidence& rank);

}  // namespace warpmark::analyze
