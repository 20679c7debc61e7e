// What share of its NVLinks a healthy machine reaches with NCCL's collectives. Pure.
#pragma once

#include <cstdint>

#include "collectives/calls/operation.h"

namespace warpmark::collectives {

/// Ratio of the bus bandwidth to nvlink_fabric, of so many ranks on one host and `bytes` as nccl-tests' column "size",
/// from 64 MiB on; without NVLink's in-switch reductions.
[[nodiscard]] double usual_reach(Collective kind, int ranks, std::int64_t bytes);

/// The product's generation, as in "NVLink 4", of NVML's number of a link's version; 0 for one that is not known.
[[nodiscard]] int nvlink_generation(int nvlink_version);

/// Whether usual_reach was measured over NVLinks of this version: another generation's rate leaves other parts of a
/// collective in front.
[[nodiscard]] bool reach_was_measured(int nvlink_version);

}  // namespace warpmark::collectives
