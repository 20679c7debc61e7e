// Commands and calls of NVIDIA's tools in what is recommended, as AMD's.
#pragma once

#include "model/analysis.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

/// Whether HIP launched what was recorded. O(names).
[[nodiscard]] bool is_of_amd(const ProfileSession& session);

/// Replaces the commands and calls in findings and in what is missing.
void name_tools_of_amd(Analysis& analysis);

}  // namespace warpmark::analyze
