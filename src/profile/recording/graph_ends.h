// Ends of kernels that a graph's last recorded launch got from a later one.
#pragma once

#include <cstdint>

#include "model/profile/timeline.h"

namespace warpmark::profile::recording {

/// A kernel of a graph that still runs when records are switched off gets its end from the next launch of the graph
/// (CUPTI 13.0, in half of the recordings of programs that XLA compiled): then all kernels of the last recorded launch
/// last until there, tens of milliseconds in place of microseconds. Of such a launch, kernels that take 1 ms more than
/// twice the longest of their kind in other launches of the graph are given the mean of these.
/// Returns their number.
std::int64_t fix_graph_ends(Timeline& timeline);

}  // namespace warpmark::profile::recording
