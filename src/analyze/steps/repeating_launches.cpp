// Iterations that nobody marked: launches of the main stream that repeat, CUDA graphs counted as one launch each.
#include "analyze/steps/repeating_launches.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "analyze/names/api_calls.h"
#include "analyze/names/words.h"
#include "analyze/recorded/order_statistics.h"
#include "analyze/steps/launch_sequence.h"

namespace warpmark::analyze {

namespace {

/// What was launched at once: a kernel or a copy, or all nodes of a CUDA graph on the main stream.
struct Launched {
  std::int64_t start = 0;
  EventIndex launch = kNoEvent;
  NameId name = 0;          ///< of the one work; of graphs a number beyond all names, the same for the same nodes
  std::uint32_t shape = 0;  ///< of a kernel's launch: an element of Timeline::launch_shapes
  std::int64_t busy_ns = 0;
  bool uploads = false;
  bool updates = false;  ///< parameters
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
    bool updates = false;
    for (std::size_t i = first; i < next; ++i) {
      busy += order[i]->end - order[i]->start;
      updates |= order[i]->updates_parameters();
    }
    launched.push_back({order[first]->start, order[first]->launch, name, kernel ? events.detail[work] : 0, busy,
                        next - first == 1 && uploads(timeline, *order[first]), updates});
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
/// hundreds.
bool are_layers(const std::vector<std::size_t>& waited, std::size_t spacing) {
  const std::size_t usual = even_spacing(waited);
  if (usual < 2 * spacing || usual > kQueueDepth) return false;
  std::size_t same = 0;
  for (std::size_t i = 1; i < waited.size(); ++i) same += waited[i] - waited[i - 1] == usual ? 1U : 0U;
  return same * 2 > waited.size() - 1;
}

/// Those of `starts` that end a window with such a launch.
std::vector<std::size_t> ends_with(const std::vector<Launched>& order, const std::vector<std::size_t>& starts,
                                   bool Launched::*wanted) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    const auto window = std::span(order).subspan(starts[i - 1], starts[i] - starts[i - 1]);
    if (std::ranges::any_of(window, wanted)) ends.push_back(starts[i]);
  }
  return ends;
}

/// The last batch of an epoch is smaller and launches other kernels, or every tenth iteration writes its loss: then the
/// longest repetition is a round of iterations. Those repeat within it, each with an update of the parameters, or,
/// where nothing is trained, with an upload.
std::vector<std::size_t> iterations_within(const std::vector<Launched>& order, const std::vector<NameId>& names,
                                           std::vector<std::size_t> rounds, std::size_t spacing) {
  const auto needed = std::ranges::any_of(order, &Launched::updates) ? &Launched::updates : &Launched::uploads;
  for (std::vector<std::size_t>& starts : sequences_within(names, spacing)) {
    if (ends_with(order, starts, needed).size() + 1 == starts.size()) return std::move(starts);
  }
  return rounds;
}

/// Where gradients are accumulated over several batches, a step goes from update to update.
std::vector<std::size_t> up_to_updates(const std::vector<Launched>& order, const std::vector<std::size_t>& starts) {
  std::vector<std::size_t> ends = ends_with(order, starts, &Launched::updates);
  return ends.size() * 2 < starts.size() && even_spacing(ends) != 0 ? ends : starts;
}

/// Few launches that repeat may be a layer, or one element of a loop: the step is a longer sequence that repeats. A
/// model of equal layers repeats two or three kernels and nothing else: a program that waits for the GPU every so many
/// of them makes a step from wait to wait.
std::vector<std::size_t> step_starts(const Timeline& timeline, const std::vector<Launched>& order) {
  std::vector<NameId> names;
  for (const Launched& one : order) names.push_back(one.name);
  std::vector<std::size_t> starts = repeating_sequence(names);
  const std::size_t spacing = even_spacing(starts);
  if (spacing >= kFewLaunches) {
    return up_to_updates(order, iterations_within(order, names, std::move(starts), spacing));
  }
  std::vector<std::size_t> matching = matching_starts(timeline, order, names);
  if (spacing == 0 || even_spacing(matching) >= 2 * spacing) return matching;
  std::vector<std::size_t> waited = first_after_waits(timeline, order);
  return are_layers(waited, spacing) ? waited : starts;
}

/// Iterations with input of their own: some of them wait for it longer than others.
bool upload_in_turn(std::span<const Launched> order, const std::vector<std::size_t>& starts) {
  const auto uploads = static_cast<std::size_t>(std::ranges::count_if(order, &Launched::uploads));
  return uploads + 1 >= starts.size();
}

/// Where a loop within the step was found, the host reads, writes or waits at the end of the step only: every so many
/// windows one is much longer, and they take much of the time. The step then ends where a long window ends.
std::vector<std::int64_t> up_to_long_windows(const std::vector<std::int64_t>& boundaries, double least_share) {
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) lengths.push_back(boundaries[i + 1] - boundaries[i]);
  if (lengths.empty()) return boundaries;
  const std::int64_t median = upper_median(lengths);
  std::vector<std::size_t> after_long;
  std::vector<std::int64_t> ends;
  std::int64_t in_long = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= 2 * median) continue;
    in_long += lengths[i];
    after_long.push_back(i + 1);
    ends.push_back(boundaries[i + 1]);
  }
  const auto all = static_cast<double>(boundaries.back() - boundaries.front());
  return static_cast<double>(in_long) > (1 - least_share) * all && even_spacing(after_long) >= 2 ? ends : boundaries;
}

std::int64_t busy_of(std::span<const Launched> launches) {
  std::int64_t sum = 0;
  for (const Launched& one : launches) sum += one.busy_ns;
  return sum;
}

/// Of all streams, as the layers of one model may run on several.
std::int64_t busy_meanwhile(const WorkList& list, std::span<const Launched> launches) {
  return launches.empty() ? 0 : work_between(list, launches.front().start, launches.back().start + 1);
}

/// Of the GPU's time in these launches, the share between the first start and one period behind the last. The first and
/// the last count as periods as far as they hold no more than any other: start-up and what follows may be in them.
double share_covered(std::span<const Launched> order, const std::vector<std::size_t>& starts) {
  const std::int64_t all = busy_of(order);
  if (starts.size() < kFewest || all == 0) return 0;
  const auto period = [&](std::size_t i) { return busy_of(order.subspan(starts[i], starts[i + 1] - starts[i])); };
  std::int64_t most = 0, covered = 0;
  for (std::size_t i = 1; i + 1 < starts.size(); ++i) {
    most = std::max(most, period(i));
    covered += period(i);
  }
  covered += std::min(most, period(0));
  const std::span<const Launched> last = order.subspan(starts.back());
  covered += std::min(most, busy_of(last.first(std::min(last.size(), even_spacing(starts) + 1))));
  return static_cast<double>(covered) / static_cast<double>(all);
}

/// Of the works from `begin` on.
std::vector<std::int64_t> repeating_from(const Timeline& timeline, const WorkList& list, double least_share,
                                         std::int64_t begin) {
  std::vector<Launched> order = launched_on_main_stream(timeline, list);
  std::erase_if(order, [begin](const Launched& one) { return one.start < begin; });
  std::int64_t all = 0;
  for (const GpuWork& work : list.works) all += work.start < begin ? 0 : work.end - work.start;
  std::vector<std::size_t> starts = step_starts(timeline, order);
  while (starts.size() >= kFewest && share_covered(order, starts) < least_share) {
    const std::span<const Launched> whole(order);
    const std::span<const Launched> before = whole.first(starts.front());
    const std::span<const Launched> behind = whole.subspan(starts.back());
    const std::span<const Launched> most = busy_of(before) > busy_of(behind) ? before : behind;
    if (static_cast<double>(busy_meanwhile(list, most)) < least_share * static_cast<double>(all)) return {};
    order = std::vector<Launched>(most.begin(), most.end());
    starts = step_starts(timeline, order);
  }
  const double covered = static_cast<double>(busy_meanwhile(list, order)) * share_covered(order, starts);
  if (covered < least_share * static_cast<double>(all)) return {};
  std::vector<std::int64_t> boundaries;
  for (const std::size_t at : starts) boundaries.push_back(order[at].start);
  return upload_in_turn(order, starts) ? boundaries : up_to_long_windows(boundaries, least_share);
}

/// What follows each update of the parameters on any stream, whose kernels may lie a little apart. Empty if these do
/// not follow each other evenly.
std::vector<std::int64_t> after_updates(const WorkList& list) {
  std::vector<std::size_t> ends;
  std::size_t last = list.works.size();
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    if (list.works[i].updates_parameters()) last = i;
    if (i + 1 == last + kFewLaunches) ends.push_back(last + 1);
  }
  std::vector<std::int64_t> times;
  if (even_spacing(ends) == 0) return times;
  for (const std::size_t end : ends) times.push_back(list.works[end].start);
  return times;
}

}  // namespace

std::vector<std::int64_t> repeating_launches(const Timeline& timeline, const WorkList& list, double least_share) {
  std::vector<std::int64_t> boundaries = repeating_from(timeline, list, least_share, INT64_MIN);
  // Where an evaluation ends each round of iterations, as every hundredth, no kernel of the model may repeat evenly,
  // but the updates do. Fewer of them may belong to one step, as those of a critic.
  constexpr std::size_t kManyUpdates = 20;
  if (!boundaries.empty()) {
    std::vector<std::int64_t> updated = after_updates(list);
    if (updated.size() >= kManyUpdates * boundaries.size()) boundaries = std::move(updated);
  }
  const auto first = std::ranges::find_if(list.works, [](const GpuWork& work) { return is_compute(work.category); });
  if (!boundaries.empty() || first == list.works.end()) return boundaries;
  return repeating_from(timeline, list, least_share, first->start);  // what is moved before are parameters
}

}  // namespace warpmark::analyze
