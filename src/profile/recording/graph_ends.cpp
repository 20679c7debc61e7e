#include "profile/recording/graph_ends.h"

#include <algorithm>
#include <map>
#include <utility>

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

}  // namespace warpmark::profile::recording
