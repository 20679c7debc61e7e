#include "analyze/recorded/missing_work.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyze/names/api_calls.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

/// From a launch until its thread has waited for the GPU, or until other work begins there.
class UnknownWork {
 public:
  UnknownWork(const Timeline& timeline, const WorkList& list) : events_(timeline.events), works_(list.works) {}

  /// Calls of waits and launches come from the last to the first.
  void wait(EventIndex call) { waits_[events_.track[call]] = call; }
  void launch(EventIndex call) {
    const std::int64_t from = events_.end(call);
    const auto work = std::ranges::lower_bound(works_, from, {}, &GpuWork::start);
    const std::int64_t until = work == works_.end() ? INT64_MAX : work->start;
    const auto wait = waits_.find(events_.track[call]);
    const bool waited = wait != waits_.end() && events_.start[wait->second] < until;
    intervals_.push_back({events_.start[call], waited ? events_.end(wait->second) : until == INT64_MAX ? from : until});
  }
  [[nodiscard]] std::vector<Interval> intervals() { return united(std::move(intervals_)); }

 private:
  const EventColumns& events_;
  const std::vector<GpuWork>& works_;
  std::unordered_map<std::uint32_t, EventIndex> waits_;  ///< the next, by track
  std::vector<Interval> intervals_;
};

/// Launch calls of the runtime contain one of the driver: those are left out. Ascending.
std::vector<EventIndex> launch_calls(const Timeline& timeline, const NameSet& launches) {
  const EventColumns& events = timeline.events;
  std::vector<EventIndex> calls;
  std::unordered_map<std::uint32_t, std::int64_t> ends;  // of the last call, by track
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i]) || !launches.contains(events.name[i])) continue;
    std::int64_t& end = ends.try_emplace(events.track[i], INT64_MIN).first->second;
    if (events.start[i] < end) continue;
    end = events.end(i);
    if (events.correlation[i] != 0) calls.push_back(i);
  }
  return calls;
}

}  // namespace

MissingWork find_missing_work(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  const NameSet graphs(timeline.names, is_graph_launch_call);
  const NameSet launches(timeline.names, is_launch_call);
  MissingWork missing;
  if (!launches.any()) return missing;
  missing.captures = any_name(timeline.names, is_capture_call);
  std::unordered_set<std::uint32_t> worked;  // by correlation
  std::int64_t launched = 0;                 // copies are not
  for (const GpuWork& work : list.works) {
    const EventKind kind = events.kind[work.event];
    launched += kind == EventKind::kernel || kind == EventKind::graph ? 1 : 0;
  }
  const std::vector<EventIndex> calls = launch_calls(timeline, launches);
  const NameSet waits(timeline.names, is_sync_call);
  const auto plain = std::ranges::count_if(calls, [&](EventIndex i) { return !graphs.contains(events.name[i]); });
  const std::int64_t lost = std::max<std::int64_t>(0, plain - launched);
  // The rows of the GPU may lack their correlation.
  const bool by_correlation = list.with_launch * 2 > std::ssize(list.works);
  if (graphs.any() || (lost > 0 && by_correlation)) {
    for (const GpuWork& work : list.works) worked.insert(events.correlation[work.event]);
  }
  UnknownWork unknown(timeline, list);
  EventIndex below = static_cast<EventIndex>(events.size());  // waits from here on are known
  for (std::size_t i = calls.size(); i-- > 0;) {
    const EventIndex call = calls[i];
    while (below > call) {
      --below;
      if (is_api_call(events.kind[below]) && waits.contains(events.name[below])) unknown.wait(below);
    }
    const bool is_graph = graphs.contains(events.name[call]);
    const bool lost_graph = is_graph && !worked.contains(events.correlation[call]);
    ++(is_graph ? missing.graph_launches : missing.launches);
    missing.graphs_without_work += lost_graph ? 1 : 0;
    const bool left_nothing = launched == 0 || (by_correlation && !worked.contains(events.correlation[call]));
    const bool lost_kernel = !is_graph && !missing.captures && lost > 0 && left_nothing;
    if (lost_graph || lost_kernel) unknown.launch(call);
  }
  // By number: while a graph is captured, launches leave no kernel, and not every recorder shows the capture.
  missing.launches_without_work = std::max<std::int64_t>(0, missing.launches - launched);
  // What was captured runs when its graph is replayed, and may be recorded as one work of the whole graph.
  const bool replayed = missing.graph_launches > missing.graphs_without_work;
  if (missing.captures && replayed) missing.launches_without_work = 0;
  missing.unknown = unknown.intervals();
  return missing;
}

}  // namespace warpmark::analyze
