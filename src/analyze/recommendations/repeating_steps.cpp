#include "analyze/recommendations/repeating_steps.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace warpmark::analyze {

namespace {

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

/// But for works at the borders of a step, which the GPU may begin in the next one.
bool are_alike(const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other) {
  std::vector<std::uint64_t> differing;
  std::ranges::set_symmetric_difference(one, other, std::back_inserter(differing));
  return static_cast<double>(differing.size()) <= kFewest + kMatters * static_cast<double>(one.size());
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
  const std::vector<std::uint64_t> first = works_of(rank, rank.steps.analyzed.front(), copies);
  for (const StepSpan& span : std::span(rank.steps.analyzed).subspan(1)) {
    if (!are_alike(first, works_of(rank, span, copies))) return false;
  }
  // Inputs and a loss stay outside of a graph.
  return waits <= kWaitsOutsideOfAGraph * rank.step_count() && copies <= kFewest * rank.step_count();
}

}  // namespace warpmark::analyze
