// A table too large to copy at once, or thought to be: embeddings, features of nodes, a replay buffer. The host reads
// its rows in random order at a few GB/s and copies the result over the bus at some 10 GB/s from pageable memory; a GPU
// that holds the table gathers them at hundreds of GB/s, from indices of a hundredth of the bytes.
#include "analyze/host/host_gather.h"

#include <algorithm>
#include <vector>

#include "analyze/names/operators.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLongGatherNs = 300'000;

struct ThreadLaunch {
  std::int64_t time;
  bool uploads;
};

/// By track, ascending.
std::vector<std::vector<ThreadLaunch>> launches_of_threads(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  std::vector<std::vector<ThreadLaunch>> launches(timeline.tracks.size());
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent) continue;
    const bool uploads = work.category == Category::copy_to_device && events.value[work.event] >= kBatchBytes;
    launches[events.track[work.launch]].push_back({events.start[work.launch], uploads});
  }
  for (auto& one : launches) std::ranges::sort(one, {}, &ThreadLaunch::time);
  return launches;
}

}  // namespace

HostGathers find_host_gathers(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps) {
  const EventColumns& events = timeline.events;
  const NameSet wanted(timeline.names, picks_rows);
  HostGathers sum;
  if (!wanted.any() || steps.empty()) return sum;
  const auto launches = launches_of_threads(timeline, list);
  std::int64_t counted_until = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::op || !wanted.contains(events.name[i]) || events.duration[i] < kLongGatherNs)
      continue;
    const bool nested = events.start[i] < counted_until;  // an embedding is an index_select
    if (nested || events.start[i] < steps.front().start_ns || events.start[i] >= steps.back().end_ns) continue;
    const auto& own = launches[events.track[i]];
    const auto next = std::ranges::lower_bound(own, events.start[i], {}, &ThreadLaunch::time);
    if (next == own.end() || next->time < events.end(i) || !next->uploads) continue;
    sum.count += 1;
    sum.ns += static_cast<double>(events.duration[i]);
    counted_until = events.end(i);
  }
  return sum;
}

}  // namespace warpmark::analyze
