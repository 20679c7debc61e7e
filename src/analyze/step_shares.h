// Where the steps of all ranks go, in the few words in which scaling is spoken of; by the same attribution as the
// findings. For two numbers of workers, these shares tell where efficiency was lost (validate/scaling/loss.h). Pure.
#pragma once

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "model/scaling.h"

namespace warpmark::analyze {

/// Means over the ranks; the estimated cost of recording is taken off first, and the parts sum to the step. Data error
/// where the session has no steps, or holds ranks of several programs.
[[nodiscard]] Result<StepShares> step_shares(const ProfileSession& session);

}  // namespace warpmark::analyze
