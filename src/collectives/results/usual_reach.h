// What share of its NVLinks a healthy machine reaches with NCCL's collectives. Pure.
#pragma once

#include <cstdint>

#include "collectives/calls/operation.h"

namespace warpmark::collectives {

/// Ratio of the bus bandwidth to nvlink_fabric, of so many ranks on one host and `bytes` as nccl-tests' column "size",
/// from 64 MiB on; without NVLink's in-switch reductions.
[[nodiscard]] double usual_reach(Collective kind, int ranks, std::int64_t bytes);

}  // namespace warpmark::collectives
