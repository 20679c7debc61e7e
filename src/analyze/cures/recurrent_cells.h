// A recurrent network that is run cell by cell, a few launches a time step, where one call runs the whole sequence.
#pragma once

#include "analyze/cures/rule.h"

namespace warpmark::analyze {

/// Cells run one after another on this rank, a step, forward; 0 where they are no long loop, where no operator tells,
/// or where a cell's input may depend on the one before: something is looked up, picked or attended to between them.
[[nodiscard]] double cells_in_a_loop(const RankEvidence& rank);

/// The loops run as one call each (PyTorch: nn.GRU, nn.LSTM and nn.RNN are cuDNN's).
void run_cells_at_once(const Evidence& evidence, double success, Change& change);

}  // namespace warpmark::analyze
