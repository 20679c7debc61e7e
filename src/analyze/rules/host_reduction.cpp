#include "analyze/rules/host_reduction.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "analyze/collective_traffic.h"
#include "analyze/host_activity.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLeastObject = 4'096;  // bytes; less is a value
constexpr double kHeader = 0.02;              // of an object, beside the data in it

/// Sizes of the messages of single bytes in the steps, ascending. PyTorch packs an object into such a tensor.
std::set<std::int64_t> objects_in_steps(const RankEvidence& rank) {
  std::set<std::int64_t> sizes;
  if (rank.timeline->collectives.empty()) return sizes;
  const CollectiveByEvent by_event = collectives_by_event(*rank.timeline);
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || !rank.in_steps(work)) continue;
    const Collective* one = collective_of(work, rank.list, by_event);
    if (one == nullptr || one->in_elements < kLeastObject) continue;
    if (rank.timeline->names.at(one->data_type) == "Byte") sizes.insert(one->in_elements);
  }
  return sizes;
}

}  // namespace

double host_collectives(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  std::vector<bool> on_host(timeline.names.size());
  bool any = false;
  for (NameId i = 0; i < on_host.size(); ++i) {
    on_host[i] = is_host_collective(timeline.names.at(i));
    any = any || on_host[i];
  }
  if (!any) return 0;
  double collectives = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const std::int64_t start = timeline.events.start[i];
    const bool on_thread = timeline.tracks[timeline.events.track[i]].kind == TrackKind::cpu_thread;
    const bool in_steps = start >= rank.steps.start() && start < rank.steps.end();
    collectives += on_host[timeline.events.name[i]] && on_thread && in_steps;
  }
  return collectives / rank.step_count();
}

bool reduces_over_host(const RankEvidence& rank) {
  constexpr double kFew = 4;          // barriers and broadcasts of values, ...
  constexpr double kMuch = 1U << 22;  // ... or bytes a step that are copied for them
  const double collectives = host_collectives(rank);
  if (collectives == 0) return false;
  double kernels = 0, bytes = 0;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work)) continue;
    kernels += work.category == Category::communication;
    if (work.downloads) bytes += static_cast<double>(rank.timeline->events.value[work.event]);
  }
  const bool matters = collectives > kFew || bytes > kMuch * rank.step_count();
  return matters && collectives * rank.step_count() > kernels;
}

bool sends_objects(const RankEvidence& rank) {
  const std::set<std::int64_t> sizes = objects_in_steps(rank);
  if (sizes.empty()) return false;
  const auto is_object = [&sizes](std::int64_t bytes) {
    const auto found = sizes.lower_bound(bytes);
    return found != sizes.end() && static_cast<double>(bytes) >= (1 - kHeader) * static_cast<double>(*found);
  };
  double objects = 0, all = 0;
  for (const GpuWork& work : rank.list.works) {
    if (!is_host_copy(work.category) || !rank.in_steps(work)) continue;
    const std::int64_t bytes = rank.timeline->events.value[work.event];
    all += static_cast<double>(bytes);
    if (is_object(bytes)) objects += static_cast<double>(bytes);
  }
  return objects > all / 2;
}

bool communicates_over_host(const RankEvidence& rank) { return reduces_over_host(rank) || sends_objects(rank); }

}  // namespace warpmark::analyze
