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

// Was the machine today what it was during its history? A difference that the history has shown itself is its noise;
// one that it has never shown may be the whole change. Pure.

/// Readings of `now` beyond everything the history has shown by more than 10 % of the machine's time for load of
/// others, 3 % for steal, 2 % for a GPU's clock and 5 % for the CPU's; all of them invalidate. Readings that fewer than
/// five environments of the history have are not judged.
[[nodiscard]] std::vector<Disturbance> environment_shift(std::span<const Environment> history, const Environment& now);

}  // namespace warpmark::validate
