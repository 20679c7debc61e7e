// Repairs of a recording: ends of kernels that a graph's last recorded launch got from a later one, and calls that bear
// one correlation id.
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

/// CUPTI numbers each call, and what the GPU does for it bears the call's number. Once in a while, when its callbacks
/// are switched on, it takes a thread for still inside an earlier call (as in a nested one) and gives all that thread's
/// calls that one number (CUPTI 13.0, one of 45 recordings of programs that are always in some call of the driver).
/// Gives such calls numbers of their own, and kernels, copies and memsets those of the launches of their kind, in the
/// order of both; work that begins before the next launch was made before the recording and gets none, and so do the
/// first of more works than launches. Numbers that a graph's launch bears are left alone: nothing tells which of its
/// kernels are whose.
/// Returns the calls that were told apart. `timeline` must be sorted.
std::int64_t distinguish_calls(Timeline& timeline);

}  // namespace warpmark::profile::recording
