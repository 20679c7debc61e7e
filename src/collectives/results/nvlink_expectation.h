// What a sweep over NVLinks is judged by, where nothing was given. Pure.
#pragma once

#include "collectives/results/verdict.h"

namespace warpmark::collectives {

/// Of `links` NVLinks in use of NVML's version: what a healthy machine was measured to reach of them. Of a generation
/// of which nothing was measured the fabric alone, which shares are told of; speed is then judged by a baseline or by
/// what is given, not by the reach of another generation.
[[nodiscard]] Expectation expectation_of_nvlinks(int nvlink_version, int links);

}  // namespace warpmark::collectives
