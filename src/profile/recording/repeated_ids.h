// Calls that bear one correlation id.
#pragma once

#include <cstdint>

#include "model/profile/timeline.h"

namespace warpmark::profile::recording {

/// CUPTI numbers each call, and what the GPU does for it bears the call's number. Once in a while, when its callbacks
/// are switched on, it takes a thread for still inside an earlier call (as in a nested one) and gives all that thread's
/// calls that one number (CUPTI 13.0, one of 45 recordings of programs that are always in some call of the driver).
/// Gives such calls numbers of their own, and kernels, copies and memsets those of the launches of their kind, in the
/// order of both; work that begins before the next launch was made before the recording and gets none, and so do the
/// first of more works than launches. Numbers that a graph's launch bears are left alone: nothing tells which of its
/// kernels are whose.
/// Returns the calls that were told apart. `timeline` must be sorted.
std::int64_t tell_calls_apart(Timeline& timeline);

}  // namespace warpmark::profile::recording
