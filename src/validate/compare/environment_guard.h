// Did the machine treat both variants alike? What happens to both equally is noise; what happens to one more than to
// the other may be the whole difference between them. Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/run.h"

namespace warpmark::validate {

/// Differences between the environments of the runs of A and those of B, each with the numbers; all of them
/// invalidate the comparison. A difference counts where it is large (10 % of the machine's time for load of others, 3 %
/// for steal, 2 % for a clock, 25 % of the runs for throttling) and Mann-Whitney's p is below 1 %.
[[nodiscard]] std::vector<Disturbance> compare_environments(std::span<const Environment> a,
                                                            std::span<const Environment> b);

/// What each run read of it when it ended; runs that did not read it are left out.
[[nodiscard]] std::vector<double> readings_after(std::span<const Environment> runs, std::string_view id);

}  // namespace warpmark::validate
