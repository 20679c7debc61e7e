#include "analyze/recorded/collective_benchmarks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyze/names/vendors.h"

namespace warpmark::analyze {

std::optional<double> bus_factor(std::string_view collective, int ranks) {
  if (ranks < 2) return std::nullopt;
  const double n = ranks;
  if (collective == "all_reduce") return 2 * (n - 1) / n;
  if (collective == "all_gather" || collective == "reduce_scatter" || collective == "alltoall" ||
      collective == "gather" || collective == "scatter") {
    return (n - 1) / n;
  }
  if (collective == "broadcast" || collective == "reduce" || collective == "sendrecv") return 1.0;
  return std::nullopt;
}

std::optional<double> benchmarked_bandwidth(std::span<const CollectiveResult> results, std::string_view collective,
                                            int ranks, double bytes) {
  const CollectiveResult* below = nullptr;
  const CollectiveResult* above = nullptr;
  for (const CollectiveResult& one : results) {
    if (one.collective != collective || one.ranks != ranks || one.in_place || one.bus_bandwidth <= 0) continue;
    const auto size = static_cast<double>(one.bytes);
    if (size <= bytes && (below == nullptr || one.bytes > below->bytes)) below = &one;
    if (size >= bytes && (above == nullptr || one.bytes < above->bytes)) above = &one;
  }
  if (below == nullptr || above == nullptr || bytes <= 0) return std::nullopt;
  if (below->bytes == above->bytes) return below->bus_bandwidth;
  const double share = std::log(bytes / static_cast<double>(below->bytes)) /
                       std::log(static_cast<double>(above->bytes) / static_cast<double>(below->bytes));
  return below->bus_bandwidth * std::pow(above->bus_bandwidth / below->bus_bandwidth, share);
}

std::optional<double> CollectiveCurve::unused_nvlink() const {
  constexpr double kPcie = 63e9;         // B/s: 16 lanes of generation 5 (PCI Express base specification)
  constexpr std::int64_t kSuffices = 8;  // times the size of half of the peak: larger ones gain nothing any more
  const auto nvlink = nvlink_rate(gpu);
  if (!nvlink || peak_bus_bandwidth >= kPcie || largest_bytes < kSuffices * half_peak_bytes) return std::nullopt;
  return nvlink;
}

std::vector<CollectiveCurve> collective_curves(std::span<const CollectiveResult> results) {
  std::map<std::tuple<std::string, std::string, int>, std::vector<const CollectiveResult*>> groups;
  for (const CollectiveResult& one : results) {
    if (!one.in_place && one.bytes > 0) groups[{one.collective, one.data_type, one.ranks}].push_back(&one);
  }
  std::vector<CollectiveCurve> curves;
  for (auto& [key, points] : groups) {
    std::stable_sort(points.begin(), points.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
    CollectiveCurve curve{.collective = std::get<0>(key), .data_type = std::get<1>(key), .ranks = std::get<2>(key)};
    curve.gpu = points.front()->gpu;
    curve.latency_s = points.front()->seconds;
    curve.largest_bytes = points.back()->bytes;
    for (const CollectiveResult* point : points) {
      curve.wrong += point->wrong.value_or(0);
      if (point->bus_bandwidth <= curve.peak_bus_bandwidth) continue;
      curve.peak_bus_bandwidth = point->bus_bandwidth;
      curve.peak_bytes = point->bytes;
    }
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      if ((*point)->bus_bandwidth < curve.peak_bus_bandwidth / 2) break;
      curve.half_peak_bytes = (*point)->bytes;
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace warpmark::analyze
