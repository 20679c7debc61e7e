// Was the machine today what it was during its history? A difference that the history has shown itself is its noise;
// one that it has never shown may be the whole change. Pure.
#pragma once

#include <span>
#include <vector>

#include "model/run.h"

namespace warpmark::validate {

/// Readings of `now` beyond everything the history has shown by more than 10 % of the machine's time for load of
/// others, 3 % for steal, 2 % for a GPU's clock and 5 % for the CPU's; all of them invalidate. Readings that fewer than
/// five environments of the history have are not judged.
[[nodiscard]] std::vector<Disturbance> environment_shift(std::span<const Environment> history, const Environment& now);

}  // namespace warpmark::validate
