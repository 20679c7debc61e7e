#include "analyze/evidence/host_lead.h"

#include <algorithm>
#include <cmath>

#include "analyze/evidence/updates.h"
#include "analyze/recorded/launch_times.h"

namespace warpmark::analyze {

double further_loss_ns(const Removal& removal, const Facts& facts, double recorded_ns) {
  const RankEvidence& rank = facts.rank();
  Change change(facts);
  removal.remove(facts, 1.0, change);
  const double replayed_gain = speedup_of(facts, change);
  if (replayed_gain <= 1) return 0;
  const double faster = replayed_gain * std::exp(removal.bias);
  const double idle = rank.part_ns(Part::idle_launch) + rank.part_ns(Part::idle_profiler);
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

double late_by_allocations_ns(const Facts& facts) {
  const double recorded = facts.rank().part_ns(Part::idle_allocation);
  return recorded > 0 ? further_loss_ns(kWithoutAllocations, facts, recorded) : 0;
}

double lost_lead_ns(const Facts& facts) {
  const RankEvidence& rank = facts.rank();
  // Without the waits of launches the step is shorter by them, down to the time that the GPU works.
  const double blocked = blocked_in_launches_ns(rank) - rank.part_ns(Part::idle_sync);
  return std::clamp(blocked, 0.0, rank.part_ns(Part::idle_launch));
}

double late_updates_ns(const Facts& facts) {
  const RankEvidence& rank = facts.rank();
  const Updates updates = updates_in_steps(rank);
  if (!is_unfused(rank, updates) || rank.over_host == OverHost::gradients) return 0;
  return further_loss_ns(kUpdatesTogether, facts, recorded_update_loss_ns(rank, updates));
}

}  // namespace warpmark::analyze
