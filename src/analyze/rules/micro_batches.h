// Gradients that are accumulated over several micro-batches and reduced in each of them, though once would do.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

/// How many times a step the ranks reduce the same gradients; 1 where it is once, or cannot be told. Told from
/// PyTorch's DistributedDataParallel and FSDP2, which mark the forward pass of each micro-batch.
[[nodiscard]] int reductions_a_step(const RankEvidence& rank);

/// Speed-up of the step where they are reduced once, not `times`: that much less communication, and as much less of the
/// copies into and out of what is sent.
[[nodiscard]] double speedup_if_reduced_once(const Evidence& evidence, int times);

}  // namespace warpmark::analyze
