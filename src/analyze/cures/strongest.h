// A finding leads with the cure that gains most: what its reader does first, what the summary names, and what the
// finding's own interval is of.
#pragma once

#include <string>

#include "model/finding.h"

namespace warpmark::analyze {

/// Gives the first recommendation the finding's gain where it has none of its own. Moves the recommendation to the
/// front whose interval lies clearly above that of the first (its low end above the middle of the other), and makes its
/// interval the finding's. Cures that gain samples a second are not set against those that make the step faster.
void lead_with_strongest(Finding& finding);

/// What the first recommendation says to do, as a clause: "replay the step as a CUDA graph". Empty without one.
[[nodiscard]] std::string leading_cure(const Finding& finding);

}  // namespace warpmark::analyze
