#include "analyze/recorded/collectives.h"

namespace warpmark::analyze {

namespace {

constexpr int kOperatorLevels = 8;  // from the launch up to the operator that knows the message

}  // namespace

CollectiveByEvent collectives_by_event(const Timeline& timeline) {
  CollectiveByEvent by_event;
  for (const Collective& one : timeline.collectives) {
    if (one.event != kNoEvent) by_event.emplace(one.event, &one);
  }
  return by_event;
}

const Collective* collective_of(const GpuWork& work, const WorkList& list, const CollectiveByEvent& by_event) {
  if (const auto found = by_event.find(work.event); found != by_event.end()) return found->second;
  EventIndex op = work.op;
  for (int level = 0; level < kOperatorLevels && op != kNoEvent; ++level) {
    if (const auto found = by_event.find(op); found != by_event.end()) return found->second;
    op = list.parent[op];
  }
  return nullptr;
}

}  // namespace warpmark::analyze
