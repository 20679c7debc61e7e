// The optimizer's update of the parameters, as recorded.
#pragma once

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

inline constexpr double kFewUpdateKernels = 40;  // a step: a fused or foreach optimizer needs fewer

struct Updates {
  double kernels = 0;
  double multi_tensor = 0;
  double gpu_ns = 0;
  double fused = 0;  ///< ns in kernels that update many parameters at once from beginning to end
};

[[nodiscard]] Updates updates_in_steps(const RankEvidence& rank);

/// Of the host's time for updates: one launch a step in place of all.
[[nodiscard]] double host_left_of_updates(const Updates& updates, double steps);
/// Avoidable kernel time, and idle time of an optimizer that a fused one would not have, a step.
[[nodiscard]] double recorded_update_loss_ns(const RankEvidence& rank, const Updates& updates);

}  // namespace warpmark::analyze
