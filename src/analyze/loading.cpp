#include "analyze/loading.h"

#include <algorithm>

namespace warpmark::analyze {

double Loading::mean_ns() const {
  double sum = 0;
  for (const double one : waits_ns) sum += one;
  return waits_ns.empty() ? 0 : sum / static_cast<double>(waits_ns.size());
}

double Loading::median_ns() const {
  if (waits_ns.empty()) return 0;
  std::vector<double> sorted = waits_ns;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

Loading find_loading(const Timeline& timeline, const WorkList& list) {
  Loading loading;
  const EventColumns& events = timeline.events;
  std::vector<bool> loads(timeline.names.size()), single(timeline.names.size()), multi(timeline.names.size());
  for (NameId i = 0; i < loads.size(); ++i) {
    loads[i] = names_data_loading(timeline.names.at(i));
    single[i] = loads[i] && contains_any(timeline.names.at(i), {"_singleprocessdataloaderiter"});
    multi[i] = loads[i] && contains_any(timeline.names.at(i), {"_multiprocessingdataloaderiter"});
  }
  double in_single = 0, in_multi = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (kind != EventKind::annotation && kind != EventKind::op) continue;
    const EventIndex parent = list.parent[i];
    const bool within = parent != kNoEvent && loads[events.name[parent]];
    if (loads[events.name[i]] && !within) {
      const auto length = static_cast<double>(events.duration[i]);
      loading.waits_ns.push_back(length);
      if (single[events.name[i]]) in_single += length;
      if (multi[events.name[i]]) in_multi += length;
    }
    if (within && kind == EventKind::op && !loads[events.name[i]]) loading.in_process = true;
  }
  // A loader for validation may work otherwise: the one that is waited for longer tells.
  loading.in_process = loading.in_process || in_single > in_multi;
  loading.multiprocess = in_multi > in_single;
  return loading;
}

}  // namespace warpmark::analyze
