// What a communication benchmark reached (nccl-tests, "Performance reported by NCCL tests").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile/kernel_profile.h"

namespace warpmark::analyze {

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
  std::string gpu{};                 ///< that all ranks have, on one host; empty if that is not known
  double latency_s = 0;              ///< of the smallest message
  double peak_bus_bandwidth = 0;     ///< B/s
  std::int64_t peak_bytes = 0;       ///< size at the peak
  std::int64_t half_peak_bytes = 0;  ///< smallest size from which on at least half of the peak is reached
  std::int64_t largest_bytes = 0;
  std::int64_t wrong = 0;  ///< elements
  /// GPUs with NVLink of this rate (B/s, one direction) reach no more than PCIe carries, over sizes that suffice.
  [[nodiscard]] std::optional<double> unused_nvlink() const;
};
[[nodiscard]] std::vector<CollectiveCurve> collective_curves(std::span<const CollectiveResult> results);

}  // namespace warpmark::analyze
