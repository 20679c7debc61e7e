// Collectives of a profile and of a communication benchmark in the same terms: bytes, time, and bus bandwidth, which is
// comparable with the links' rate whatever the number of ranks (nccl-tests, "Performance reported by NCCL tests").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/evidence.h"
#include "model/kernel_profile.h"

namespace warpmark::analyze {

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

/// The collectives of a timeline by the event that describes them.
using CollectiveByEvent = std::unordered_map<EventIndex, const Collective*>;
[[nodiscard]] CollectiveByEvent collectives_by_event(const Timeline& timeline);

/// The collective of a communication kernel: newer recordings describe the kernel, older ones the operator that
/// launched it. nullptr if none does.
[[nodiscard]] const Collective* collective_of(const GpuWork& work, const WorkList& list,
                                              const CollectiveByEvent& by_event);

/// Largest first. Kernels whose message the recording does not describe are left out.
/// Those of a rank; how fast a call can be tells the rank of its program that came last to it, and waited for nobody.
[[nodiscard]] std::vector<CollectiveTraffic> collective_traffic(const Evidence& evidence, const RankEvidence& rank);

/// "allreduce", "_allgather_base", "ncclAllReduce" as nccl-tests name it; empty if it is none of theirs.
[[nodiscard]] std::string standard_collective(std::string_view name);

/// Bus bandwidth over algorithm bandwidth; nullopt for kinds without one, or below two ranks.
[[nodiscard]] std::optional<double> bus_factor(std::string_view collective, int ranks);

/// What the benchmark reached, out of place, interpolated between its sizes (both on logarithms). nullopt outside of
/// its sizes, or if it did not run this collective on as many ranks.
[[nodiscard]] std::optional<double> benchmarked_bandwidth(std::span<const CollectiveResult> results,
                                                          std::string_view collective, int ranks, double bytes);

/// One collective of a benchmark over all its sizes.
struct CollectiveCurve {
  std::string collective;
  std::string data_type;
  int ranks = 0;
  double latency_s = 0;              ///< of the smallest message
  double peak_bus_bandwidth = 0;     ///< B/s
  std::int64_t peak_bytes = 0;       ///< size at the peak
  std::int64_t half_peak_bytes = 0;  ///< smallest size from which on at least half of the peak is reached
  std::int64_t wrong = 0;            ///< elements
};
[[nodiscard]] std::vector<CollectiveCurve> collective_curves(std::span<const CollectiveResult> results);

}  // namespace warpmark::analyze
