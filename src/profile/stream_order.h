// Work of a GPU stream runs in order: durations that say otherwise are wrong.
#pragma once

#include <cstdint>
#include <string>

#include "model/profile/timeline.h"

namespace warpmark::profile {

struct Overruns {
  std::int64_t count = 0;
  std::string example;
};

/// Shortens work that its recorder lets run on while two or more later launches of its stream began and ended: to where
/// the next of them began. Nodes of one CUDA graph may overlap, and so may a kernel and the next one (programmatic
/// dependent launch). `timeline` is sorted by start. O(events).
[[nodiscard]] Overruns shorten_overruns(Timeline& timeline);

}  // namespace warpmark::profile
