#include "analyze/recorded/missing_work.h"

#include <algorithm>
#include <unordered_set>

#include "analyze/names/api_calls.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

/// Until the first wait of the thread that begins after the launch ends, or work of the GPU begins.
std::int64_t known_again(const Timeline& timeline, const WorkList& list, const NameSet& waits, EventIndex launch) {
  const EventColumns& events = timeline.events;
  const std::int64_t from = events.end(launch);
  const auto next = std::ranges::lower_bound(list.works, from, {}, &GpuWork::start);
  const std::int64_t work = next == list.works.end() ? INT64_MAX : next->start;
  for (EventIndex i = launch + 1; i < events.size() && events.start[i] < work; ++i) {
    if (events.track[i] == events.track[launch] && is_api_call(events.kind[i]) && waits.contains(events.name[i]))
      return events.end(i);
  }
  return work == INT64_MAX ? from : work;
}

}  // namespace

MissingWork find_missing_work(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  const NameSet graphs(timeline.names, is_graph_launch_call);
  const NameSet launches(timeline.names, is_launch_call);
  MissingWork missing;
  if (!launches.any()) return missing;
  missing.captures = any_name(timeline.names, is_capture_call);
  const NameSet waits(timeline.names, is_sync_call);
  std::unordered_set<std::uint32_t> worked;  // by correlation
  for (const GpuWork& work : list.works) {
    if (graphs.any()) worked.insert(events.correlation[work.event]);
  }
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i]) || !launches.contains(events.name[i]) || events.correlation[i] == 0) continue;
    if (!graphs.contains(events.name[i])) {
      ++missing.launches;
      continue;
    }
    ++missing.graph_launches;
    if (worked.contains(events.correlation[i])) continue;
    ++missing.graphs_without_work;
    missing.unknown.push_back({events.start[i], known_again(timeline, list, waits, i)});
  }
  // Not by correlation, which the rows of the GPU may lack.
  missing.launches_without_work = std::max<std::int64_t>(0, missing.launches - std::ssize(list.works));
  // What was captured runs when its graph is replayed, and may be recorded as one work of the whole graph.
  const bool replayed = missing.graph_launches > missing.graphs_without_work;
  if (missing.captures && replayed) missing.launches_without_work = 0;
  missing.unknown = united(std::move(missing.unknown));
  return missing;
}

}  // namespace warpmark::analyze
