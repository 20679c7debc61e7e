// Communication that goes over the host: collectives of Gloo or MPI on copies of what the GPUs hold, and objects, which
// the host packs, copies to its GPU, and after the collective copies back and unpacks.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

/// Collectives of Gloo and MPI a step, without barriers.
[[nodiscard]] double host_collectives(const RankEvidence& rank);
/// For gather_evidence(), which keeps it.
[[nodiscard]] OverHost over_host_of(const RankEvidence& rank);

}  // namespace warpmark::analyze
