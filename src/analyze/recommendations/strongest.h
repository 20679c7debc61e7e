// Which fixes the summary names: the one that a finding leads with, which fits the program as it is, and one that gains
// clearly more where the program can be made to fit it.
#pragma once

#include <string>

#include "model/finding.h"

namespace warpmark::analyze {

/// The recommendation whose interval lies wholly above the finding's, the highest of them; null if there is none. Fixes
/// that gain samples a second are not set against those that make the step faster.
[[nodiscard]] const Recommendation* stronger_fix(const Finding& finding);

/// What a recommendation says to do, as a clause: "replay the step as a CUDA graph". Empty for what is no fix.
[[nodiscard]] std::string clause_of(const Recommendation& fix);

}  // namespace warpmark::analyze
