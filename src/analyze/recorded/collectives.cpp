#include "analyze/recorded/collectives.h"

namespace warpmark::analyze {

CollectiveByEvent collectives_by_event(const Timeline& timeline) {
  CollectiveByEvent by_event;
  for (const Collective& one : timeline.collectives) {
    if (one.event != kNoEvent) by_event.emplace(one.event, &one);
  }
  return by_event;
}

const Collective* collective_of(const GpuWork& work, const WorkList& list, const CollectiveByEvent& by_event) {
  if (const auto found = by_event.find(work.event); found != by_event.end()) return found->second;
  for (EventIndex op = work.op; op != kNoEvent; op = list.parent[op]) {
    if (const auto found = by_event.find(op); found != by_event.end()) return found->second;
  }
  return nullptr;
}

}  // namespace warpmark::analyze
