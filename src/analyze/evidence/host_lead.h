// Launch calls that wait for what they launched (CUDA_LAUNCH_BLOCKING=1).
#pragma once

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// What such calls took beyond a plain one, ns a step. 0 if launches do not wait.
[[nodiscard]] double blocked_in_launches_ns(const RankEvidence& rank);

}  // namespace warpmark::analyze
