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
  std::vector<bool> loads(timeline.names.size());
  for (NameId i = 0; i < loads.size(); ++i) {
    loads[i] = names_data_loading(timeline.names.at(i));
    loading.in_process |= loads[i] && contains_any(timeline.names.at(i), {"_singleprocessdataloaderiter"});
  }
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (kind != EventKind::annotation && kind != EventKind::op) continue;
    const EventIndex parent = list.parent[i];
    const bool within = parent != kNoEvent && loads[events.name[parent]];
    if (loads[events.name[i]] && !within) loading.waits_ns.push_back(static_cast<double>(events.duration[i]));
    if (within && kind == EventKind::op && !loads[events.name[i]]) loading.in_process = true;
  }
  return loading;
}

}  // namespace warpmark::analyze
