// What a sweep over NVLinks is judged by where nothing was given, and what share of them a healthy machine reaches with
// NCCL's collectives. Pure.
#pragma once

#include <cstdint>

#include "collectives/calls/operation.h"
#include "collectives/results/verdict.h"

namespace warpmark::collectives {

/// Ratio of the bus bandwidth to nvlink_fabric, of so many ranks on one host and `bytes` as nccl-tests' column "size",
/// from 64 MiB on; without NVLink's in-switch reductions.
[[nodiscard]] double usual_reach(Collective kind, int ranks, std::int64_t bytes);

/// The product's generation, as in "NVLink 4", of NVML's number of a link's version; 0 for one that is not known.
[[nodiscard]] int nvlink_generation(int nvlink_version);

/// Whether usual_reach was measured over NVLinks of this version: another generation's rate leaves other parts of a
/// collective in front.
[[nodiscard]] bool reach_was_measured(int nvlink_version);

/// Of `links` NVLinks in use of NVML's version: what a healthy machine was measured to reach of them. Of a generation
/// of which nothing was measured the fabric alone, which shares are told of; speed is then judged by a baseline or by
/// what is given, not by the reach of another generation.
[[nodiscard]] Expectation expectation_of_nvlinks(int nvlink_version, int links);

}  // namespace warpmark::collectives
