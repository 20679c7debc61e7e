// Puts the events of one track into lanes, and keeps the longest where there are too many.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/timeline/timeline_view.h"

namespace warpmark::report {

/// True for events that a row shows: they have a length, and are no samples.
[[nodiscard]] bool is_drawable(EventKind kind);

/// When the event ran, since the timeline's origin; kept to 73 years around it, so that sums of broken times stay
/// numbers.
[[nodiscard]] StepSpan span_of(const EventColumns& events, std::size_t i);

/// The drawable events of the track that are in `events`, which are ascending by start.
[[nodiscard]] ViewRow make_row(const Timeline& timeline, std::uint32_t track, std::span<const EventIndex> events,
                               StepSpan window);

/// Leaves at most `max_events` in all rows together. Rows with few events keep them all; the others share what is left
/// evenly and keep `pinned` events (sorted) first, then the longest.
void limit_events(std::vector<ViewRow>& rows, std::size_t max_events, std::span<const EventIndex> pinned);

/// Lanes from 0 without holes, after the last event was dropped.
void close_lanes(ViewRow& row);

}  // namespace warpmark::report
