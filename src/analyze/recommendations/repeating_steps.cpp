#include "analyze/recommendations/repeating_steps.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace warpmark::analyze {

namespace {

constexpr double kMostCopies = 4;         // a step between host and GPU: inputs and a loss stay outside of a graph
constexpr std::size_t kUncertain = 4;     // works at the borders of a step, or in one step only; and 2 % more
constexpr std::size_t kTimesOfAKind = 4;  // that a kind of step comes again, in the mean ...
constexpr std::size_t kMostKinds = 8;     // ... where there is more than one

/// Tells grids and sizes apart.
std::uint32_t shape_of(const Timeline& timeline, EventIndex event) {
  const EventColumns& events = timeline.events;
  if (events.kind[event] != EventKind::kernel) return static_cast<std::uint32_t>(events.value[event]);
  const LaunchShape& shape = timeline.launch_shapes[events.detail[event]];
  return (shape.grid[0] * 31 + shape.grid[1]) * 31 + shape.grid[2];
}

/// Name and launch shape of every work of a step, ascending; `copies` counts those between host and GPU.
std::vector<std::uint64_t> works_of(const RankEvidence& rank, const StepSpan& span, double& copies) {
  const EventColumns& events = rank.timeline->events;
  const std::vector<GpuWork>& works = rank.list.works;
  std::vector<std::uint64_t> keys;
  for (auto work = std::ranges::lower_bound(works, span.start_ns, {}, &GpuWork::start);
       work != works.end() && work->start < span.end_ns; ++work) {
    copies += is_host_copy(work->category);
    keys.push_back(std::uint64_t{events.name[work->event]} << 32U | shape_of(*rank.timeline, work->event));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Whether these keys, ascending, are those of a kind of step that was seen; else they are a new kind.
bool is_known(std::vector<std::uint64_t> keys, std::vector<std::vector<std::uint64_t>>& kinds) {
  const bool known = std::ranges::any_of(kinds, [&keys](const std::vector<std::uint64_t>& kind) {
    std::vector<std::uint64_t> other;
    std::ranges::set_symmetric_difference(kind, keys, std::back_inserter(other));
    return other.size() <= kUncertain + kind.size() / 50;
  });
  if (!known) kinds.push_back(std::move(keys));
  return known;
}

}  // namespace

bool repeats_exactly(const RankEvidence& rank) {
  if (rank.steps.analyzed.size() < 2) return false;
  double waits = 0;
  for (const BlockingCall& call : rank.host->blocking_calls()) {
    if (call.end < rank.steps.start() || call.start >= rank.steps.end()) continue;
    if (call.cause == HostCause::allocation) return false;
    waits += 1;
  }
  double copies = 0;
  const std::size_t most_kinds = std::clamp<std::size_t>(rank.steps.analyzed.size() / kTimesOfAKind, 1, kMostKinds);
  std::vector<std::vector<std::uint64_t>> kinds;
  for (const StepSpan& span : rank.steps.analyzed) {
    if (!is_known(works_of(rank, span, copies), kinds) && kinds.size() > most_kinds) return false;
  }
  return waits <= kWaitsOutsideOfAGraph * rank.step_count() && copies <= kMostCopies * rank.step_count();
}

}  // namespace warpmark::analyze
