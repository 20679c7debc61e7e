// Ranks replayed together. A collective ends everywhere at once: it begins to move data when the last rank has come to
// it. So the step is longer than that of the slowest rank alone where now one comes late and now another.
#pragma once

#include <span>

#include "analyze/replay/replay.h"

namespace warpmark::analyze {

/// Steady time of a step of all ranks, each changed by its own element of `changes`, ns: the longest of them; 0 if
/// nothing could be replayed. O(works). A collective that is removed (duration scale 0) holds nobody.
[[nodiscard]] double step_together_ns(std::span<const Replay* const> ranks, std::span<const WhatIf> changes);

}  // namespace warpmark::analyze
