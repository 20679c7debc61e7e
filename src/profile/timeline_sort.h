// Puts the events of a timeline in order of start, in little memory.
#pragma once

#include <cstdint>
#include <string>

#include "model/profile/timeline.h"

namespace warpmark::profile {

/// By start, longer first on ties, else in the order given; collectives follow their events. Needs 16 bytes an event.
void sort_events(Timeline& timeline);

/// Keeps the events for which keep[i] is not 0, in order; collectives of the others are dropped.
void keep_events(Timeline& timeline, const EventColumn<std::uint8_t>& keep);

/// CUDA C++ Programming Guide, "Streams": work of a stream executes in the order in which it was issued. Records of
/// ROCm were seen with kernels of 1.6 s among such of 0.3 ms.
struct Overruns {
  std::int64_t count = 0;
  std::string example;
};

/// Shortens work that its recorder lets run on while two or more later launches of its stream began and ended: to where
/// the next of them began. Nodes of one CUDA graph may overlap, and so may a kernel and the next one (programmatic
/// dependent launch). `timeline` is sorted by start. O(events).
[[nodiscard]] Overruns shorten_overruns(Timeline& timeline);

}  // namespace warpmark::profile
