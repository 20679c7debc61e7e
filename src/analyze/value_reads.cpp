#include "analyze/value_reads.h"

namespace warpmark::analyze {

std::vector<std::size_t> find_value_reads(const Timeline& timeline, const WorkList& list, const DebugModes& modes) {
  const EventColumns& events = timeline.events;
  std::vector<bool> reads(timeline.names.size());
  bool any = modes.anomaly_mode;
  for (NameId i = 0; i < reads.size(); ++i) {
    reads[i] = timeline.names.at(i) == "aten::item";
    any = any || reads[i];
  }
  std::vector<std::size_t> found;
  if (!any) return found;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (work.category != Category::copy_to_host && !modes.anomaly_mode) continue;
    for (EventIndex at = work.launch; at != kNoEvent; at = list.parent[at]) {
      if (events.kind[at] != EventKind::op || (!reads[events.name[at]] && !modes.checks.contains(at))) continue;
      found.push_back(i);
      break;
    }
  }
  return found;
}

}  // namespace warpmark::analyze
