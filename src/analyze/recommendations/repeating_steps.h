// Steps that launch the same again and again: what a CUDA graph could hold.
#pragma once

#include "analyze/evidence/evidence.h"

namespace warpmark::analyze {

inline constexpr double kWaitsOutsideOfAGraph = 1;  ///< of the host for the GPU, a step: reading the loss at its end

/// Whether a CUDA graph could hold the steps: each launches the same kernels in the same shapes, and nothing between
/// them needs the host (allocations, waits for the GPU beyond the reading of a loss, copies of data). What was found to
/// repeat without annotations may be a part of the program's step (a stage of an integrator, a layer): a few kinds that
/// come again and again are the parts of a longer step that repeats.
[[nodiscard]] bool repeats_exactly(const RankEvidence& rank);

}  // namespace warpmark::analyze
