#include "analyze/lead.h"

#include <algorithm>
#include <cmath>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

double further_loss_ns(const Rule& rule, const Evidence& evidence, double recorded_ns) {
  const RankEvidence& rank = evidence.rank();
  const double replayed_gain = replayed(rule, evidence, rule.calibration.removed);
  if (replayed_gain <= 1) return 0;
  const double faster = replayed_gain * std::exp(rule.calibration.bias);
  const double idle =
      rank.part_ns(Part::idle_launch) + rank.part_ns(Part::idle_host) + rank.part_ns(Part::idle_profiler);
  return std::clamp(rank.undisturbed_step_ns() * (1 - 1 / faster) - recorded_ns, 0.0, idle);
}

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

double late_by_allocations_ns(const Evidence& evidence) {
  const double recorded = evidence.rank().part_ns(Part::idle_allocation);
  return recorded > 0 ? further_loss_ns(kMemoryAllocationRule, evidence, recorded) : 0;
}

double lost_lead_ns(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double recorded = rank.part_ns(Part::idle_sync);
  // Without the waits of launches the step is shorter by them, down to the time that the GPU works.
  const double idle = rank.part_ns(Part::idle_launch) + rank.part_ns(Part::idle_host);
  const double blocked = std::min(idle, blocked_in_launches_ns(rank) - recorded);
  return std::max(blocked, further_loss_ns(kCpuGpuSyncRule, evidence, recorded));
}

}  // namespace warpmark::analyze
