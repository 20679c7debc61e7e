// A step's window on the GPU's clock begins when the first work that the step launched on the busiest stream begins,
// and ends where the next step's window begins: where the host runs ahead of the GPU, the ranges of the host say
// nothing about when the GPU works on a step. So windows tile the recording without gap, and their sum is exact.
#include "analyze/recorded/steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>

#include "analyze/names/api_calls.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/launch_sequence.h"
#include "analyze/recorded/order_statistics.h"
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
  std::size_t beside_another = 0;  // ranges that a range of this name on another track overlaps
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
  std::map<std::string, std::pair<std::int64_t, Candidate*>> latest;  // of each name: the end, of which group
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
    auto& [end, other] = latest[name];
    const bool host = kind == EventKind::annotation;  // the GPU's ranges may be repeated on each stream
    if (host && other != nullptr && other != &group && events.start[i] < end) {
      ++group.beside_another;
      ++other->beside_another;
    }
    if (other == nullptr || events.end(i) > end) {
      end = events.end(i);
      other = &group;
    }
  }
  std::vector<Candidate> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

/// When each work began on the clock of the ranges, ascending: on the host's it was launched.
std::vector<std::int64_t> beginnings_of_work(const Timeline& timeline, const WorkList& list, EventKind kind) {
  std::vector<std::int64_t> begun;
  for (const GpuWork& work : list.works) {
    if (kind == EventKind::gpu_annotation) {
      begun.push_back(work.start);
    } else if (work.launch != kNoEvent) {
      begun.push_back(timeline.events.start[work.launch]);
    }
  }
  std::sort(begun.begin(), begun.end());
  return begun;
}

/// Compilation and data loading may repeat and cover the recording, too. But several threads do them at once, while
/// steps follow one another, and steps do the program's work: three of four begin some, and together half of it.
bool are_steps(const Candidate& one, const std::vector<std::int64_t>& begun) {
  if (one.beside_another * 2 >= one.ranges.size()) return false;
  std::size_t within = 0;
  std::size_t idle = 0;
  for (const HostStep& range : one.ranges) {
    const auto first = std::lower_bound(begun.begin(), begun.end(), range.start);
    const auto count = static_cast<std::size_t>(std::lower_bound(first, begun.end(), range.end) - first);
    within += count;
    idle += count == 0 ? 1U : 0U;
  }
  return begun.empty() || (idle * 4 <= one.ranges.size() && within * 2 >= begun.size());
}

/// The ranges that are steps: the profiler's own first, else those that cover most of the time, the fewest of them.
const Candidate* choose(const std::vector<Candidate>& candidates, std::int64_t span,
                        const std::vector<std::int64_t>& begun) {
  const Candidate* best = nullptr;
  for (const Candidate& one : candidates) {
    if (one.overlapping) continue;
    if (names_profiler_step(one.name) && one.ranges.size() >= 2) return &one;
    const bool once_a_step = one.ranges.size() >= 3 && one.covered * 2 >= span;
    if (!once_a_step || !are_steps(one, begun)) continue;
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
  steps.found_by = names_profiler_step(chosen.name) ? "ProfilerStep annotations"
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
  NameId name = 0;          ///< of the one work; of graphs a number beyond all names, the same for the same nodes
  std::uint32_t shape = 0;  ///< of a kernel's launch: an element of Timeline::launch_shapes
  std::int64_t busy_ns = 0;
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
    const EventIndex work = order[first]->event;
    NameId name = events.name[work];
    if (next - first > 1) {
      std::vector<NameId> nodes;
      for (std::size_t i = first; i < next; ++i) nodes.push_back(events.name[order[i]->event]);
      std::sort(nodes.begin(), nodes.end());
      const auto known = static_cast<NameId>(timeline.names.size() + graphs.size());
      name = graphs.try_emplace(std::move(nodes), known).first->second;
    }
    const bool kernel = next - first == 1 && events.kind[work] == EventKind::kernel;
    std::int64_t busy = 0;
    for (std::size_t i = first; i < next; ++i) busy += order[i]->end - order[i]->start;
    launched.push_back({order[first]->start, order[first]->launch, name, kernel ? events.detail[work] : 0, busy});
    first = next;
  }
  return launched;
}

/// What was launched first after each wait of the host for the GPU, as indices into `order`.
std::vector<std::size_t> first_after_waits(const Timeline& timeline, const std::vector<Launched>& order) {
  const EventColumns& events = timeline.events;
  const NameSet waits(timeline.names, is_sync_call);
  std::vector<std::pair<std::int64_t, std::size_t>> launches;  // when, which
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].launch != kNoEvent) launches.emplace_back(events.start[order[i].launch], i);
  }
  std::sort(launches.begin(), launches.end());
  std::vector<std::size_t> found;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i]) || !waits.contains(events.name[i])) continue;
    const auto next = std::lower_bound(launches.begin(), launches.end(), std::pair(events.end(i), std::size_t{0}));
    if (next != launches.end()) found.push_back(next->second);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// What is launched, and in grids and blocks of which size: the same kernels work on all levels of a pyramid.
std::vector<std::uint32_t> with_shapes(const Timeline& timeline, const std::vector<Launched>& order) {
  std::map<std::array<std::uint32_t, 6>, std::uint32_t> sizes;
  std::vector<std::uint32_t> size_of;
  for (const LaunchShape& one : timeline.launch_shapes) {
    const std::array<std::uint32_t, 6> size = {one.grid[0],  one.grid[1],  one.grid[2],
                                               one.block[0], one.block[1], one.block[2]};
    size_of.push_back(sizes.try_emplace(size, static_cast<std::uint32_t>(sizes.size())).first->second);
  }
  std::map<std::pair<NameId, std::uint32_t>, std::uint32_t> kinds;
  std::vector<std::uint32_t> launches;
  for (const Launched& one : order) {
    const std::uint32_t size = one.shape < size_of.size() ? size_of[one.shape] : 0;
    launches.push_back(kinds.try_emplace({one.name, size}, static_cast<std::uint32_t>(kinds.size())).first->second);
  }
  return launches;
}

/// Sizes that depend on the data differ from step to step: then the names alone.
std::vector<std::size_t> matching_starts(const Timeline& timeline, const std::vector<Launched>& order,
                                         const std::vector<NameId>& names) {
  std::vector<std::size_t> starts = self_matching_sequence(with_shapes(timeline, order));
  return starts.empty() ? self_matching_sequence(names) : starts;
}

/// Whether as many rounds of `spacing` launches lie between any two: a model has the same layers in each step, and not
/// hundreds. A program that waits now and then, by the clock or to print how far it is, makes steps in between.
bool are_layers(const std::vector<std::size_t>& waited, std::size_t spacing) {
  constexpr std::size_t kMostLayers = 128;
  const std::size_t usual = even_spacing(waited);
  if (usual < 2 * spacing || usual > kMostLayers * spacing) return false;
  std::size_t same = 0;
  for (std::size_t i = 1; i < waited.size(); ++i) same += waited[i] - waited[i - 1] == usual ? 1U : 0U;
  return same * 4 >= (waited.size() - 1) * 3;
}

/// Few launches that repeat may be a layer, or one element of a loop: the step is a longer sequence that repeats. A
/// model of equal layers repeats two or three kernels and nothing else: a program that waits for the GPU every so many
/// of them makes a step from wait to wait.
std::vector<std::size_t> step_starts(const Timeline& timeline, const std::vector<Launched>& order) {
  constexpr std::size_t kFewLaunches = 8;
  std::vector<NameId> names;
  for (const Launched& one : order) names.push_back(one.name);
  std::vector<std::size_t> starts = repeating_sequence(names);
  const std::size_t spacing = even_spacing(starts);
  if (spacing >= kFewLaunches) return starts;
  std::vector<std::size_t> matching = matching_starts(timeline, order, names);
  if (spacing == 0 || even_spacing(matching) >= 2 * spacing) return matching;
  std::vector<std::size_t> waited = first_after_waits(timeline, order);
  return are_layers(waited, spacing) ? waited : starts;
}

/// Where a loop within the step was found, the host reads, writes or waits at the end of the step only: every so many
/// windows one is much longer, and they take much of the time. The step then ends where a long window ends.
std::vector<std::int64_t> up_to_long_windows(const std::vector<std::int64_t>& boundaries) {
  constexpr std::int64_t kMuchLonger = 3;  // than the median
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) lengths.push_back(boundaries[i + 1] - boundaries[i]);
  if (lengths.empty()) return boundaries;
  const std::int64_t median = upper_median(lengths);
  std::vector<std::size_t> after_long;
  std::vector<std::int64_t> ends;
  std::int64_t in_long = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= kMuchLonger * median) continue;
    in_long += lengths[i];
    after_long.push_back(i + 1);
    ends.push_back(boundaries[i + 1]);
  }
  const bool much_of_the_time = in_long * 5 > boundaries.back() - boundaries.front();
  return much_of_the_time && even_spacing(after_long) >= 2 ? ends : boundaries;
}

std::int64_t busy_of(std::span<const Launched> launches) {
  std::int64_t sum = 0;
  for (const Launched& one : launches) sum += one.busy_ns;
  return sum;
}

std::int64_t length_of(std::span<const Launched> launches) {
  return launches.empty() ? 0 : launches.back().start + launches.back().busy_ns - launches.front().start;
}

/// What a program does before its steps, or after them, may repeat as well: where more of the time and of the GPU's
/// work lies before what was found, or behind it, that is searched by itself. Time alone may be a compiler's, and work
/// alone a phase that keeps the GPU busy before one that does not.
std::vector<std::int64_t> boundaries_in_main_part(const Timeline& timeline, std::vector<Launched> order) {
  constexpr int kTries = 3;
  std::vector<std::size_t> starts = step_starts(timeline, order);
  for (int i = 0; i < kTries && starts.size() >= 2; ++i) {
    const std::span<const Launched> all(order);
    const std::span<const Launched> before = all.first(starts.front());
    const std::span<const Launched> behind = all.subspan(starts.back());
    const std::int64_t found = busy_of(all) - busy_of(before) - busy_of(behind);
    const std::span<const Launched> most = busy_of(before) > busy_of(behind) ? before : behind;
    const std::int64_t found_length = all[starts.back()].start - all[starts.front()].start;
    if (found >= busy_of(most) || found_length >= length_of(most)) break;
    std::vector<Launched> part(most.begin(), most.end());
    std::vector<std::size_t> in_part = step_starts(timeline, part);
    if (in_part.size() < 3) break;
    order = std::move(part);
    starts = std::move(in_part);
  }
  std::vector<std::int64_t> boundaries;
  for (const std::size_t at : starts) boundaries.push_back(order[at].start);
  return boundaries;
}

Steps from_kernels(const Timeline& timeline, const WorkList& list) {
  Steps steps;
  const std::vector<std::int64_t> boundaries =
      up_to_long_windows(boundaries_in_main_part(timeline, launched_on_main_stream(timeline, list)));
  steps.found = static_cast<int>(boundaries.size());
  steps.found_by = "repeating kernel sequence";
  steps.analyzed = windows(boundaries);
  steps.repeating = !steps.analyzed.empty();
  leave_out_start(steps);
  return steps;
}

}  // namespace

Steps find_steps(const Timeline& timeline, const WorkList& list) {
  if (timeline.events.size() == 0) return whole_recording(timeline, list);
  std::int64_t span = 0;
  if (!list.empty()) span = list.works.back().end - list.works.front().start;
  for (const auto& [kind, word] :
       {std::pair(EventKind::annotation, "annotation"), std::pair(EventKind::gpu_annotation, "GPU range")}) {
    const std::vector<Candidate> candidates = repeating_ranges(timeline, kind);
    if (const Candidate* chosen = choose(candidates, span, beginnings_of_work(timeline, list, kind))) {
      Steps steps = from_ranges(timeline, list, *chosen, word);
      if (!steps.analyzed.empty()) return steps;
    }
  }
  Steps steps = from_kernels(timeline, list);
  return steps.analyzed.empty() ? whole_recording(timeline, list) : steps;
}

}  // namespace warpmark::analyze
