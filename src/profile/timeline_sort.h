// Puts the events of a timeline in order of start, in little memory.
#pragma once

#include <cstdint>

#include "model/profile/timeline.h"

namespace warpmark::profile {

/// By start, longer first on ties, else in the order given; collectives follow their events. Needs 16 bytes an event.
void sort_events(Timeline& timeline);

/// Keeps the events for which keep[i] is not 0, in order; collectives of the others are dropped.
void keep_events(Timeline& timeline, const EventColumn<std::uint8_t>& keep);

}  // namespace warpmark::profile
