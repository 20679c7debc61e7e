// Iterations that nobody marked, found by the launches that repeat.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// When each iteration begins on the GPU, ascending; empty unless they hold `least_share` of all GPU work.
[[nodiscard]] std::vector<std::int64_t> repeating_launches(const Timeline& timeline, const WorkList& list,
                                                           double least_share);

}  // namespace warpmark::analyze
