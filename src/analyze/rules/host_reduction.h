// Collectives that the host computes: Gloo or MPI on copies of what the GPUs hold.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

/// Collectives of Gloo and MPI, a step.
[[nodiscard]] double host_collectives(const RankEvidence& rank);
/// The steps hold collectives of a host library and hardly any of the GPUs'.
[[nodiscard]] bool reduces_over_host(const RankEvidence& rank);

}  // namespace warpmark::analyze
