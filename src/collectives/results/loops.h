// What rank 0 makes of everybody's times: a placement with its spread, its skew and the rank that is late. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/calls/engine.h"
#include "collectives/calls/plan.h"
#include "collectives/results/row.h"

namespace warpmark::collectives {

/// `loops` and `offsets_ns` are by rank; without offsets the loops' begins are of one clock.
[[nodiscard]] Placement placement_of_loops(const std::vector<RankLoop>& loops,
                                           const std::vector<std::int64_t>& offsets_ns, RankAverage average);

}  // namespace warpmark::collectives
