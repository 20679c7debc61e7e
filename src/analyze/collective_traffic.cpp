#include "analyze/collective_traffic.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <tuple>

namespace warpmark::analyze {
namespace {

constexpr int kOperatorLevels = 8;  // from the launch up to the operator that knows the message

/// Bytes of an element as torch and NCCL name its type; 0 if unknown.
double element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, double>, 16> kTypes{{{"Float", 4},
                                                                        {"BFloat16", 2},
                                                                        {"Half", 2},
                                                                        {"Double", 8},
                                                                        {"Int", 4},
                                                                        {"Long", 8},
                                                                        {"Short", 2},
                                                                        {"Byte", 1},
                                                                        {"Char", 1},
                                                                        {"Bool", 1},
                                                                        {"Float8_e4m3fn", 1},
                                                                        {"Float8_e5m2", 1},
                                                                        {"float", 4},
                                                                        {"half", 2},
                                                                        {"bfloat16", 2},
                                                                        {"double", 8}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& one) { return one.first == type; });
  return found == kTypes.end() ? 0 : found->second;
}

/// Gathering collectives are counted by what comes out, the others by what goes in (nccl-tests' "size").
double message_bytes(const Collective& one, std::string_view collective, std::string_view type) {
  const std::int64_t elements = collective == "all_gather" || collective == "gather"
                                    ? std::max(one.in_elements, one.out_elements)
                                    : std::max<std::int64_t>(one.in_elements, 0);
  return static_cast<double>(elements) * element_bytes(type);
}

}  // namespace

CollectiveByEvent collectives_by_event(const Timeline& timeline) {
  CollectiveByEvent by_event;
  for (const Collective& one : timeline.collectives) {
    if (one.event != kNoEvent) by_event.emplace(one.event, &one);
  }
  return by_event;
}

const Collective* collective_of(const GpuWork& work, const WorkList& list, const CollectiveByEvent& by_event) {
  if (const auto found = by_event.find(work.event); found != by_event.end()) return found->second;
  EventIndex op = work.op;
  for (int level = 0; level < kOperatorLevels && op != kNoEvent; ++level) {
    if (const auto found = by_event.find(op); found != by_event.end()) return found->second;
    op = list.parent[op];
  }
  return nullptr;
}

std::string standard_collective(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  constexpr std::array<std::pair<std::string_view, const char*>, 9> kKinds{{{"allreduce", "all_reduce"},
                                                                            {"allgather", "all_gather"},
                                                                            {"reducescatter", "reduce_scatter"},
                                                                            {"alltoall", "alltoall"},
                                                                            {"broadcast", "broadcast"},
                                                                            {"scatter", "scatter"},
                                                                            {"gather", "gather"},
                                                                            {"reduce", "reduce"},
                                                                            {"sendrecv", "sendrecv"}}};
  for (const auto& [part, kind] : kKinds) {
    if (letters.find(part) != std::string::npos) return kind;
  }
  return "";
}

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

namespace {

/// Kind, type, number of ranks, bytes.
using CallKind = std::tuple<std::string, std::string, int, double>;

/// Of equal calls in the analyzed steps, ascending.
std::map<CallKind, std::vector<double>> seconds_of_calls(const RankEvidence& rank) {
  const CollectiveByEvent by_event = collectives_by_event(*rank.timeline);
  std::map<CallKind, std::vector<double>> seconds;
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || !rank.in_steps(work)) continue;
    const Collective* one = collective_of(work, rank.list, by_event);
    if (one == nullptr) continue;
    const std::string kind = standard_collective(rank.timeline->names.at(one->name));
    const std::string type(rank.timeline->names.at(one->data_type));
    const double bytes = message_bytes(*one, kind, type);
    if (kind.empty() || bytes <= 0) continue;
    seconds[{kind, type, one->group_size, bytes}].push_back(static_cast<double>(work.end - work.start) * 1e-9);
  }
  for (auto& [kind, times] : seconds) std::sort(times.begin(), times.end());
  return seconds;
}

}  // namespace

std::vector<CollectiveTraffic> collective_traffic(const Evidence& evidence, const RankEvidence& rank) {
  std::map<CallKind, double> fastest;
  for (const RankEvidence& other : evidence.ranks) {
    if (evidence.programs[other.index] != evidence.programs[rank.index]) continue;
    for (const auto& [kind, times] : seconds_of_calls(other)) {
      const auto [known, added] = fastest.try_emplace(kind, times.front());
      if (!added) known->second = std::min(known->second, times.front());
    }
  }
  std::vector<CollectiveTraffic> traffic;
  for (const auto& [key, times] : seconds_of_calls(rank)) {
    const auto& [kind, type, ranks, bytes] = key;
    CollectiveTraffic one{
        kind, type, ranks, bytes, static_cast<std::int64_t>(times.size()), times[times.size() / 2], fastest.at(key), 0};
    const auto factor = bus_factor(kind, ranks);
    if (factor && one.fastest_s > 0) one.bus_bandwidth = bytes / one.fastest_s * *factor;
    traffic.push_back(std::move(one));
  }
  std::sort(traffic.begin(), traffic.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return traffic;
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

std::vector<CollectiveCurve> collective_curves(std::span<const CollectiveResult> results) {
  std::map<std::tuple<std::string, std::string, int>, std::vector<const CollectiveResult*>> groups;
  for (const CollectiveResult& one : results) {
    if (!one.in_place && one.bytes > 0) groups[{one.collective, one.data_type, one.ranks}].push_back(&one);
  }
  std::vector<CollectiveCurve> curves;
  for (auto& [key, points] : groups) {
    std::stable_sort(points.begin(), points.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
    CollectiveCurve curve{.collective = std::get<0>(key), .data_type = std::get<1>(key), .ranks = std::get<2>(key)};
    curve.latency_s = points.front()->seconds;
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
