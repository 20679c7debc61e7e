// Communication that goes over the host: collectives of Gloo or MPI on copies of what the GPUs hold, and objects, which
// the host packs, copies to its GPU, and after the collective copies back and unpacks.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

/// Collectives of Gloo and MPI, a step.
[[nodiscard]] double host_collectives(const RankEvidence& rank);
/// The steps hold collectives of a host library and hardly any of the GPUs'.
[[nodiscard]] bool reduces_over_host(const RankEvidence& rank);
/// Most of what the steps copy between host and GPU is objects on their way to other ranks or from them (PyTorch:
/// broadcast_object_list, all_gather_object).
[[nodiscard]] bool sends_objects(const RankEvidence& rank);
/// One of both: the copies and the waits around them are communication's.
[[nodiscard]] bool communicates_over_host(const RankEvidence& rank);

}  // namespace warpmark::analyze
