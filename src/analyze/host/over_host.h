// Communication that goes over the host: collectives of Gloo or MPI on copies of what the GPUs hold, and objects, which
// the host packs, copies to its GPU, and after the collective copies back and unpacks.
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
  objects,    ///< most of what the steps copy between host and GPU are objects that ranks send one another
};

[[nodiscard]] OverHost over_host_of(const Timeline& timeline, const WorkList& list, const Steps& steps);

/// Collectives of Gloo and MPI a step, without barriers.
[[nodiscard]] double host_collectives(const Timeline& timeline, const Steps& steps);

}  // namespace warpmark::analyze
