// A step's window on the GPU's clock begins when the first work that the step launched on the busiest stream begins,
// and ends where the next step's window begins: where the host runs ahead of the GPU, the ranges of the host say
// nothing about when the GPU works on a step. So windows tile the recording without gap, and their sum is exact.
#include "analyze/steps.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "analyze/host_activity.h"
#include "base/text.h"

namespace warpmark::analyze {

namespace {

struct HostStep {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct Candidate {
  std::string name;  // without digits
  std::vector<HostStep> ranges;
  bool overlapping = false;
  std::int64_t covered = 0;
};

std::string without_digits(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c < '0' || c > '9') result += c;
  }
  return result;
}

std::vector<Candidate> repeating_ranges(const Timeline& timeline, EventKind kind) {
  const EventColumns& events = timeline.events;
  std::map<std::pair<std::uint32_t, std::string>, Candidate> groups;
  std::vector<std::string> plain(timeline.names.size());
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != kind || events.duration[i] <= 0) continue;
    std::string& name = plain[events.name[i]];
    if (name.empty()) name = without_digits(timeline.name_of(i));
    Candidate& group = groups[{events.track[i], name}];
    group.name = name;
    if (!group.ranges.empty() && events.start[i] < group.ranges.back().end) group.overlapping = true;
    group.ranges.push_back({events.start[i], events.end(i)});
    group.covered += events.duration[i];
  }
  std::vector<Candidate> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

/// The ranges that are steps: the profiler's own first, else those that cover most of the time, the fewest of them.
const Candidate* choose(const std::vector<Candidate>& candidates, std::int64_t span) {
  const Candidate* best = nullptr;
  for (const Candidate& one : candidates) {
    if (one.overlapping) continue;
    if (contains_any(one.name, {"profilerstep"}) && one.ranges.size() >= 2) return &one;
    const bool once_a_step = one.ranges.size() >= 3 && one.covered * 2 >= span;
    if (!once_a_step) continue;
    if (best == nullptr || one.covered > best->covered + span / 50 ||
        (one.covered > best->covered - span / 50 && one.ranges.size() < best->ranges.size())) {
      best = &one;
    }
  }
  return best;
}

/// Start on the GPU of the first work of the busiest stream launched from `from` on.
std::vector<std::int64_t> gpu_starts(const Timeline& timeline, const WorkList& list,
                                     const std::vector<HostStep>& ranges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> launches;  // launch time, start
  for (const GpuWork& work : list.works) {
    if (work.track == list.main_stream && work.launch != kNoEvent) {
      launches.emplace_back(timeline.events.start[work.launch], work.start);
    }
  }
  std::sort(launches.begin(), launches.end());
  std::vector<std::int64_t> starts;
  for (const HostStep& range : ranges) {
    const auto first = std::lower_bound(launches.begin(), launches.end(), std::pair(range.start, std::int64_t{0}));
    if (first == launches.end()) break;
    starts.push_back(first->second);
  }
  return starts;
}

std::vector<StepSpan> windows(const std::vector<std::int64_t>& boundaries) {
  std::vector<StepSpan> spans;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
    if (boundaries[i + 1] > boundaries[i]) spans.push_back({boundaries[i], boundaries[i + 1]});
  }
  return spans;
}

Steps whole_recording(const Timeline& timeline, const WorkList& list) {
  Steps steps;
  steps.found_by = "whole recording";
  steps.found = 1;
  std::int64_t start = 0;
  std::int64_t end = 0;
  if (!list.empty()) {
    start = list.works.front().start;
    for (const GpuWork& work : list.works) end = std::max(end, work.end);
  } else if (timeline.events.size() > 0) {
    start = timeline.events.start[0];
    for (EventIndex i = 0; i < timeline.events.size(); ++i) end = std::max(end, timeline.events.end(i));
  }
  if (end > start) steps.analyzed.push_back({start, end});
  return steps;
}

/// Leaves out start-up, where enough steps remain: the first of four or more windows.
void leave_out_start(Steps& steps) {
  if (steps.analyzed.size() >= 4) steps.analyzed.erase(steps.analyzed.begin());
}

Steps from_ranges(const Timeline& timeline, const WorkList& list, const Candidate& chosen, const char* kind) {
  Steps steps;
  steps.found_by = contains_any(chosen.name, {"profilerstep"})
                       ? "ProfilerStep annotations"
                       : std::string(kind) + " '" + std::string(trim(chosen.name)) + "'";
  steps.found = static_cast<int>(chosen.ranges.size());
  std::vector<std::int64_t> boundaries = gpu_starts(timeline, list, chosen.ranges);
  if (boundaries.size() < 2) {  // launches were not recorded: the ranges themselves
    boundaries.clear();
    for (const HostStep& range : chosen.ranges) boundaries.push_back(range.start);
  }
  steps.analyzed = windows(boundaries);
  steps.repeating = !steps.analyzed.empty();
  leave_out_start(steps);
  return steps;
}

/// What was launched at once: a kernel or a copy, or all nodes of a CUDA graph on the main stream.
struct Launched {
  std::int64_t start = 0;
  EventIndex launch = kNoEvent;
  NameId name = 0;  ///< of the one work; of graphs a number beyond all names, the same for the same nodes
};

/// In the order in which they began on the main stream. The layers of a graph may be alike, so that its nodes' names
/// repeat within it: the graph counts as one.
std::vector<Launched> launched_on_main_stream(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  std::vector<const GpuWork*> order;
  for (const GpuWork& work : list.works) {
    if (work.track == list.main_stream) order.push_back(&work);
  }
  std::map<std::vector<NameId>, NameId> graphs;  // by their nodes' names; parallel branches may swap places
  std::vector<Launched> launched;
  for (std::size_t first = 0; first < order.size();) {
    const std::uint32_t correlation = events.correlation[order[first]->event];
    std::size_t next = first + 1;
    while (next < order.size() && correlation != 0 && events.correlation[order[next]->event] == correlation) ++next;
    NameId name = events.name[order[first]->event];
    if (next - first > 1) {
      std::vector<NameId> nodes;
      for (std::size_t i = first; i < next; ++i) nodes.push_back(events.name[order[i]->event]);
      std::sort(nodes.begin(), nodes.end());
      const auto known = static_cast<NameId>(timeline.names.size() + graphs.size());
      name = graphs.try_emplace(std::move(nodes), known).first->second;
    }
    launched.push_back({order[first]->start, order[first]->launch, name});
    first = next;
  }
  return launched;
}

/// Evenly spaced: at least three, and in three of four cases within a tenth of the median, which is returned; else 0.
std::size_t even_spacing(const std::vector<std::size_t>& positions) {
  if (positions.size() < 3) return 0;
  std::vector<std::size_t> gaps;
  for (std::size_t i = 1; i < positions.size(); ++i) gaps.push_back(positions[i] - positions[i - 1]);
  std::sort(gaps.begin(), gaps.end());
  const std::size_t median = gaps[gaps.size() / 2];
  const auto uneven = static_cast<std::size_t>(std::count_if(gaps.begin(), gaps.end(), [&](std::size_t gap) {
    return (gap > median ? gap - median : median - gap) * 10 > median;
  }));
  return uneven * 4 <= gaps.size() ? median : 0;
}

/// What was launched first after each wait of the host for the GPU, as indices into `order`.
std::vector<std::size_t> first_after_waits(const Timeline& timeline, const std::vector<Launched>& order) {
  const EventColumns& events = timeline.events;
  std::vector<bool> waits(timeline.names.size());
  for (NameId i = 0; i < waits.size(); ++i) waits[i] = is_sync_call(timeline.names.at(i));
  std::vector<std::pair<std::int64_t, std::size_t>> launches;  // when, which
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].launch != kNoEvent) launches.emplace_back(events.start[order[i].launch], i);
  }
  std::sort(launches.begin(), launches.end());
  std::vector<std::size_t> found;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if ((kind != EventKind::runtime_api && kind != EventKind::driver_api) || !waits[events.name[i]]) continue;
    const auto next = std::lower_bound(launches.begin(), launches.end(), std::pair(events.end(i), std::size_t{0}));
    if (next != launches.end()) found.push_back(next->second);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// A model of equal layers repeats two or three kernels and nothing else: a program that waits for the GPU every so
/// many of them makes a step from wait to wait.
std::vector<std::size_t> step_starts(const Timeline& timeline, const std::vector<Launched>& order) {
  constexpr std::size_t kFewLaunches = 8;
  std::vector<NameId> names;
  for (const Launched& one : order) names.push_back(one.name);
  std::vector<std::size_t> starts = repeating_sequence(names);
  const std::size_t spacing = even_spacing(starts);
  if (spacing == 0 || spacing >= kFewLaunches) return starts;
  std::vector<std::size_t> waited = first_after_waits(timeline, order);
  return even_spacing(waited) >= 2 * spacing ? waited : starts;
}

Steps from_kernels(const Timeline& timeline, const WorkList& list) {
  const std::vector<Launched> order = launched_on_main_stream(timeline, list);
  Steps steps;
  std::vector<std::int64_t> boundaries;
  for (const std::size_t at : step_starts(timeline, order)) boundaries.push_back(order[at].start);
  steps.found = static_cast<int>(boundaries.size());
  steps.found_by = "repeating kernel sequence";
  steps.analyzed = windows(boundaries);
  steps.repeating = !steps.analyzed.empty();
  leave_out_start(steps);
  return steps;
}

struct Regular {
  std::size_t spacing = 0;
  std::size_t count = 0;
  std::size_t first = 0;
  NameId name = 0;
};

/// Names whose occurrences are evenly spaced (median deviation at most a tenth), at least three of them.
std::vector<Regular> regular_names(const std::vector<NameId>& names) {
  std::map<NameId, std::vector<std::size_t>> positions;
  for (std::size_t i = 0; i < names.size(); ++i) positions[names[i]].push_back(i);
  std::vector<Regular> result;
  for (const auto& [name, at] : positions) {
    if (const std::size_t spacing = even_spacing(at)) result.push_back({spacing, at.size(), at.front(), name});
  }
  return result;
}

}  // namespace

Steps find_steps(const Timeline& timeline, const WorkList& list) {
  if (timeline.events.size() == 0) return whole_recording(timeline, list);
  std::int64_t span = 0;
  if (!list.empty()) span = list.works.back().end - list.works.front().start;
  for (const auto& [kind, word] :
       {std::pair(EventKind::annotation, "annotation"), std::pair(EventKind::gpu_annotation, "GPU range")}) {
    const std::vector<Candidate> candidates = repeating_ranges(timeline, kind);
    if (const Candidate* chosen = choose(candidates, span)) {
      Steps steps = from_ranges(timeline, list, *chosen, word);
      if (!steps.analyzed.empty()) return steps;
    }
  }
  Steps steps = from_kernels(timeline, list);
  return steps.analyzed.empty() ? whole_recording(timeline, list) : steps;
}

std::vector<std::size_t> repeating_sequence(const std::vector<NameId>& names) {
  const std::vector<Regular> regular = regular_names(names);
  // The step is the longest spacing that several kernels share: what occurs once a step has it, whatever noise lies
  // between.
  const Regular* best = nullptr;
  std::size_t best_support = 0;
  for (const Regular& one : regular) {
    std::size_t support = 0;
    for (const Regular& other : regular) {
      const std::size_t apart = one.spacing > other.spacing ? one.spacing - other.spacing : other.spacing - one.spacing;
      support += apart * 20 <= one.spacing;
    }
    if (one.spacing * (one.count + 1) * 2 < names.size()) continue;  // repeats in a part of the recording only
    if (support < 2 && regular.size() > 1) continue;
    const bool longer = best == nullptr || one.spacing > best->spacing + best->spacing / 20;
    const bool same = best != nullptr && !longer && one.spacing * 20 >= best->spacing * 19;
    if (longer || (same && one.first < best->first)) {
      best = &one;
      best_support = support;
    }
  }
  std::vector<std::size_t> result;
  if (best == nullptr || best_support == 0) return result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == best->name) result.push_back(i);
  }
  return result;
}

}  // namespace warpmark::analyze
