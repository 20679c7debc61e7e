#include "analyze/evidence/host_lead.h"

#include <algorithm>

#include "analyze/recorded/scales.h"

namespace warpmark::analyze {

double blocked_in_launches_ns(const RankEvidence& rank) {
  if (!rank.host->debug_modes().launches_block) return 0;
  const EventColumns& events = rank.timeline->events;
  double sum = 0;
  EventIndex last = kNoEvent;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent || work.launch == last || is_copy(work.category) || !rank.in_steps(work)) continue;
    last = work.launch;  // of several works of a graph count one
    if (!outlasts(events.end(work.launch), work.end)) continue;
    sum += static_cast<double>(std::max<std::int64_t>(0, events.duration[work.launch] - kPlainLaunchNs));
  }
  return sum / rank.step_count();
}

}  // namespace warpmark::analyze
