// Communication that goes over the host: collectives of Gloo or MPI on copies of what the GPUs hold.
#pragma once

#include "analyze/recorded/work_list.h"
#include "analyze/steps/steps.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// What of a rank's communication goes over the host.
enum class OverHost {
  nothing,
  values,     ///< a few sums, which take long
  gradients,  ///< collectives of a host library, and hardly any of the GPUs'
};

[[nodiscard]] OverHost over_host_of(const Timeline& timeline, const WorkList& list, const Steps& steps);

/// Collectives of Gloo and MPI a step, without barriers.
[[nodiscard]] double host_collectives(const Timeline& timeline, const Steps& steps);

}  // namespace warpmark::analyze
