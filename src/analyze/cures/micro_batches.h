// Gradients that are accumulated over several micro-batches and reduced in each of them, though once would do.
#pragma once

#include "analyze/cures/rule.h"

namespace warpmark::analyze {

/// How many times the ranks reduce the same gradients for one update of the parameters; 1 where it is once, or cannot
/// be told. Told from PyTorch's DistributedDataParallel and FSDP2, which mark the forward pass of each micro-batch.
[[nodiscard]] int reductions_an_update(const RankEvidence& rank);

/// Leaves of the copies into and out of what is sent as much as reducing once, not `times`, does. The columns of
/// `change` are open.
void reduce_once(const Evidence& evidence, int times, double success, Change& change);

}  // namespace warpmark::analyze
