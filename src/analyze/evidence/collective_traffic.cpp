#include "analyze/evidence/collective_traffic.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyze/names/collective_kinds.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {
namespace {

// What the recording tells of the message that a communication kernel sent.

/// Gathering collectives are counted by what comes out, the others by what goes in (nccl-tests' "size").
double message_bytes(const Collective& one, std::string_view collective, std::string_view type) {
  const std::int64_t elements = collective == "all_gather" || collective == "gather"
                                    ? std::max(one.in_elements, one.out_elements)
                                    : std::max<std::int64_t>(one.in_elements, 0);
  return static_cast<double>(elements) * element_bytes(type);
}

/// Kind, type, number of ranks, bytes.
using CallKind = std::tuple<std::string, std::string, int, double>;

/// Of equal calls in the analyzed steps, ascending.
std::map<CallKind, std::vector<double>> seconds_of_calls(const RankEvidence& rank) {
  const DescribedCollectives described(*rank.timeline);
  std::map<CallKind, std::vector<double>> seconds;
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || !rank.in_steps(work)) continue;
    const Collective* one = described.of(work, rank.list);
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

DescribedCollectives::DescribedCollectives(const Timeline& timeline) {
  for (const Collective& one : timeline.collectives) {
    if (one.event != kNoEvent) by_event_.emplace(one.event, &one);
  }
}

const Collective* DescribedCollectives::of(const GpuWork& work, const WorkList& list) const {
  if (const auto found = by_event_.find(work.event); found != by_event_.end()) return found->second;
  for (EventIndex op = work.op; op != kNoEvent; op = list.parent[op]) {
    if (const auto found = by_event_.find(op); found != by_event_.end()) return found->second;
  }
  return nullptr;
}

std::vector<CollectiveTraffic> collective_traffic(const Facts& facts, const RankEvidence& rank) {
  std::map<CallKind, double> fastest;
  for (const RankEvidence& other : facts.ranks) {
    if (facts.programs[other.index] != facts.programs[rank.index]) continue;
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

}  // namespace warpmark::analyze
