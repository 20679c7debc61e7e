#include "analyze/steps/marked_ranges.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/names/api_calls.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

/// GPU work in the order in which it was launched, or began.
struct Placed {
  std::int64_t at = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool main = false;  ///< on the main stream
  bool graph = false;
};

std::vector<Placed> placed_works(const Timeline& timeline, const WorkList& list, bool by_launch) {
  const NameSet graphs(timeline.names, is_graph_launch_call);
  std::vector<Placed> placed;
  for (const GpuWork& work : list.works) {
    if (by_launch && work.launch == kNoEvent) continue;
    const bool graph = work.launch != kNoEvent && graphs.contains(timeline.events.name[work.launch]);
    const std::int64_t at = by_launch ? timeline.events.start[work.launch] : work.start;
    placed.push_back({at, work.start, work.end, work.track == list.main_stream, graph});
  }
  std::ranges::stable_sort(placed, {}, &Placed::at);
  return placed;
}

/// Groups of one kind. `placed` is on the ranges' clock.
class Grouper {
 public:
  /// `device`: the GPU whose ranges count.
  Grouper(const Timeline& timeline, EventKind kind, int device, const std::vector<Placed>& placed)
      : timeline_(timeline), kind_(kind), device_(device), placed_(placed) {
    for (const Placed& work : placed) all_ns_ += work.end - work.start;
  }

  std::vector<RangeGroup> run() {
    const EventColumns& events = timeline_.events;
    std::vector<std::string> plain(timeline_.names.size());
    for (EventIndex i = 0; i < events.size(); ++i) {
      if (events.kind[i] != kind_ || events.duration[i] <= 0) continue;
      if (kind_ == EventKind::gpu_annotation && timeline_.tracks[events.track[i]].device != device_) continue;
      std::string& name = plain[events.name[i]];
      if (name.empty()) name = without_digits(timeline_.name_of(i));
      add(i, name);
    }
    std::vector<RangeGroup> result;
    for (auto& [key, group] : groups_) result.push_back(std::move(group.group));
    return result;
  }

 private:
  struct Open {
    RangeGroup group;
    NameId first_name = 0;
  };

  void add(EventIndex i, const std::string& name) {
    const EventColumns& events = timeline_.events;
    Open& open = groups_[{events.track[i], name}];
    RangeGroup& group = open.group;
    if (group.ranges.empty()) {
      group.name = name;
      group.kind = kind_;
      open.first_name = events.name[i];
    }
    group.alike = group.alike && events.name[i] == open.first_name;
    if (!group.ranges.empty() && events.start[i] < group.ranges.back().end) group.overlapping = true;
    group.ranges.push_back(with_work(events.start[i], events.end(i), group));
    mark_concurrent(i, name, group);
  }

  MarkedRange with_work(std::int64_t start, std::int64_t end, RangeGroup& group) const {
    MarkedRange range{start, end};
    bool on_main = false, graph = false;
    for (auto at = std::ranges::lower_bound(placed_, start, {}, &Placed::at); at != placed_.end() && at->at < end;
         ++at) {
      const bool first = range.work_ns == 0 && range.last_work == 0;
      if (first || (at->main && !on_main) || (at->main == on_main && at->start < range.first_work))
        range.first_work = at->start;
      on_main = on_main || at->main;
      graph = graph || at->graph;
      range.work_ns += at->end - at->start;
      range.last_work = std::max(range.last_work, at->end);
    }
    group.replays_graphs = group.replays_graphs && graph;
    if (all_ns_ > 0) group.work_share += static_cast<double>(range.work_ns) / static_cast<double>(all_ns_);
    return range;
  }

  /// The GPU's ranges may be repeated on each stream.
  void mark_concurrent(EventIndex i, const std::string& name, RangeGroup& group) {
    if (kind_ != EventKind::annotation) return;
    const EventColumns& events = timeline_.events;
    auto& [end, other] = latest_[{timeline_.tracks[events.track[i]].process, name}];
    if (other != nullptr && other != &group && events.start[i] < end) {
      ++group.concurrent;
      ++other->concurrent;
    }
    if (other == nullptr || events.end(i) > end) end = events.end(i), other = &group;
  }

  const Timeline& timeline_;
  const EventKind kind_;
  const int device_;
  const std::vector<Placed>& placed_;
  std::int64_t all_ns_ = 0;
  std::map<std::pair<std::uint32_t, std::string>, Open> groups_;
  /// Of each name in a process: the latest end, of which group.
  std::map<std::pair<std::int64_t, std::string>, std::pair<std::int64_t, RangeGroup*>> latest_;
};

}  // namespace

std::vector<RangeGroup> marked_ranges(const Timeline& timeline, const WorkList& list) {
  const std::vector<Placed> by_start = placed_works(timeline, list, false);
  const std::vector<Placed> by_launch = placed_works(timeline, list, true);
  const std::vector<Placed>& of_host = by_launch.empty() ? by_start : by_launch;
  const int device = list.empty() ? -1 : timeline.tracks[list.main_stream].device;
  std::vector<RangeGroup> groups = Grouper(timeline, EventKind::annotation, device, of_host).run();
  for (RangeGroup& group : Grouper(timeline, EventKind::gpu_annotation, device, by_start).run())
    groups.push_back(std::move(group));
  return groups;
}

std::vector<RangeGroup> calls_of_functions(const Timeline& timeline, const WorkList& list) {
  return Grouper(timeline, EventKind::python, -1, placed_works(timeline, list, true)).run();
}

}  // namespace warpmark::analyze
