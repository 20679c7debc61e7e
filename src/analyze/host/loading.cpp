#include "analyze/host/loading.h"

#include <algorithm>

#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/order_statistics.h"

namespace warpmark::analyze {

double Loading::mean_ns() const {
  double sum = 0;
  for (const double one : waits_ns) sum += one;
  return waits_ns.empty() ? 0 : sum / static_cast<double>(waits_ns.size());
}

double Loading::median_ns() const { return upper_median(waits_ns); }

bool shows_workers(const Timeline& timeline) {
  return any_name(timeline.names, [](std::string_view name) { return loader_of(name) == Loader::multi; });
}

double restarts_of_workers_ns(const Timeline& timeline, std::int64_t from, std::int64_t to) {
  const EventColumns& events = timeline.events;
  const NameSet restarts(timeline.names, names_worker_restart);
  double sum = 0;
  int times = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::python || events.start[i] < from || events.start[i] >= to) continue;
    if (!restarts.contains(events.name[i])) continue;
    sum += static_cast<double>(events.duration[i]);
    ++times;
  }
  return times > 1 ? sum : 0;
}

Loading find_loading(const Timeline& timeline, const WorkList& list) {
  Loading loading;
  const EventColumns& events = timeline.events;
  const std::vector<Loader> loaders = known_by_names(timeline.names, loader_of);
  double in_single = 0, in_multi = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (kind != EventKind::annotation && kind != EventKind::op) continue;
    const Loader loader = loaders[events.name[i]];
    const EventIndex parent = list.parent[i];
    const bool within = parent != kNoEvent && loaders[events.name[parent]] != Loader::none;
    if (within && kind == EventKind::op && loader == Loader::none) loading.in_process = true;
    if (within || loader == Loader::none) continue;
    const auto length = static_cast<double>(events.duration[i]);
    loading.waits_ns.push_back(length);
    if (loader == Loader::single) in_single += length;
    if (loader == Loader::multi) in_multi += length;
  }
  // A loader for validation may work otherwise: the one that is waited for longer tells.
  loading.in_process = (loading.in_process && in_multi == 0) || in_single > in_multi;
  loading.multiprocess = in_multi > in_single;
  return loading;
}

}  // namespace warpmark::analyze
