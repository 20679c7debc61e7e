#include "analyze/rules/lead.h"

#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

double lost_lead_ns(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double faster = replayed(kCpuGpuSyncRule, evidence, 1.0);
  const double lost = rank.undisturbed_step_ns() * (1 - 1 / std::max(1.0, faster)) - rank.part_ns(Part::idle_sync);
  const double idle =
      rank.part_ns(Part::idle_launch) + rank.part_ns(Part::idle_host) + rank.part_ns(Part::idle_profiler);
  return std::clamp(lost, 0.0, idle);
}

}  // namespace warpmark::analyze
