#include "analyze/rules/lead.h"

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

double lost_lead_ns(const Evidence& evidence) {
  return further_loss_ns(kCpuGpuSyncRule, evidence, evidence.rank().part_ns(Part::idle_sync));
}

}  // namespace warpmark::analyze
