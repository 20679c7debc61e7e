#include "profile/recording/graph_ends.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace warpmark::profile::recording {
namespace {

constexpr std::int64_t kLeastTooLongNs = 1'000'000;

struct Launch {
  std::int64_t start = 0;
  std::uint32_t correlation = 0;
};

struct Durations {
  std::int64_t longest = 0;
  std::int64_t sum = 0;
  std::int64_t count = 0;
};

enum Work : std::size_t { launched, copied, filled, graphs, kWorks, none = kWorks };

Work work_of_call(std::string_view name) {
  if (name.find("GraphLaunch") != std::string_view::npos) return graphs;
  if (name.find("Launch") != std::string_view::npos) return launched;
  if (name.find("emcpy") != std::string_view::npos) return copied;
  return name.find("emset") != std::string_view::npos ? filled : none;
}

Work work_of(EventKind kind) {
  switch (kind) {
    case EventKind::kernel: return launched;
    case EventKind::memcpy: return copied;
    case EventKind::memset: return filled;
    default: return none;
  }
}

bool is_call(EventKind kind) { return kind == EventKind::runtime_api || kind == EventKind::driver_api; }

/// Launches of one kind that bear one number, in order, and how many of them have met their work.
struct Queue {
  std::vector<EventIndex> launches;
  std::size_t met = 0;
  std::int64_t earlier = 0;  ///< works beyond the launches: these were made before the recording
};
using Launches = std::array<Queue, kWorks>;

std::vector<Work> works_of_names(const NameTable& names) {
  std::vector<Work> works(names.size());
  for (NameId name = 0; name < names.size(); ++name) works[name] = work_of_call(names.at(name));
  return works;
}

/// The numbers that several calls bear, none of them a graph's launch. Four bytes a call.
std::unordered_map<std::uint32_t, Launches> repeated_numbers(const EventColumns& events,
                                                             const std::vector<Work>& works) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_call(events.kind[i]) && events.correlation[i] != 0) numbers.push_back(events.correlation[i]);
  }
  if (!std::is_sorted(numbers.begin(), numbers.end())) std::sort(numbers.begin(), numbers.end());
  std::unordered_map<std::uint32_t, Launches> repeated;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] == numbers[i - 1]) repeated.try_emplace(numbers[i]);
  }
  for (std::size_t i = 0; i < events.size() && !repeated.empty(); ++i) {
    if (is_call(events.kind[i]) && works[events.name[i]] == graphs) repeated.erase(events.correlation[i]);
  }
  return repeated;
}

void count_earlier(const EventColumns& events, const std::vector<Work>& works,
                   std::unordered_map<std::uint32_t, Launches>& repeated) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto found = repeated.find(events.correlation[i]);
    if (found == repeated.end()) continue;
    const bool call = is_call(events.kind[i]);
    const Work work = call ? works[events.name[i]] : work_of(events.kind[i]);
    if (work != none) found->second[work].earlier += call ? -1 : 1;
  }
}

}  // namespace

std::int64_t fix_graph_ends(Timeline& timeline) {
  EventColumns& events = timeline.events;
  const auto graph_of = [&](std::size_t i) {
    return events.kind[i] == EventKind::kernel ? timeline.launch_shapes[events.detail[i]].graph_id : 0U;
  };
  std::map<std::uint32_t, Launch> last;  // by graph
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint32_t graph = graph_of(i);
    if (graph == 0) continue;
    Launch& launch = last[graph];
    if (events.start[i] >= launch.start) launch = {events.start[i], events.correlation[i]};
  }
  if (last.empty()) return 0;
  const auto is_last = [&](std::size_t i, std::uint32_t graph) {
    return last[graph].correlation == events.correlation[i];
  };
  std::map<std::pair<NameId, std::uint32_t>, Durations> usual;  // by name and launch shape, which is of one graph
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint32_t graph = graph_of(i);
    if (graph == 0 || is_last(i, graph)) continue;
    Durations& one = usual[{events.name[i], events.detail[i]}];
    one.longest = std::max(one.longest, events.duration[i]);
    one.sum += events.duration[i];
    ++one.count;
  }
  std::int64_t fixed = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint32_t graph = graph_of(i);
    if (graph == 0 || !is_last(i, graph)) continue;
    const auto found = usual.find({events.name[i], events.detail[i]});
    if (found == usual.end() || events.duration[i] - kLeastTooLongNs <= 2 * found->second.longest) continue;
    events.duration[i] = found->second.sum / found->second.count;
    ++fixed;
  }
  return fixed;
}

std::int64_t distinguish_calls(Timeline& timeline) {
  EventColumns& events = timeline.events;
  const std::vector<Work> works = works_of_names(timeline.names);
  auto repeated = repeated_numbers(events, works);
  if (repeated.empty()) return 0;
  count_earlier(events, works, repeated);
  std::uint32_t last = *std::max_element(events.correlation.begin(), events.correlation.end());
  std::int64_t distinguished = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto found = repeated.find(events.correlation[i]);
    if (found == repeated.end()) continue;
    if (is_call(events.kind[i])) {
      const Work work = works[events.name[i]];
      if (work != none) found->second[work].launches.push_back(static_cast<EventIndex>(i));
      events.correlation[i] = ++last;
      ++distinguished;
    } else if (const Work work = work_of(events.kind[i]); work != none) {
      Queue& queue = found->second[work];
      const bool earlier = queue.earlier-- > 0;
      const bool any = !earlier && queue.met < queue.launches.size();
      events.correlation[i] = any ? events.correlation[queue.launches[queue.met++]] : 0;
    }
  }
  return distinguished;
}

}  // namespace warpmark::profile::recording
