#include "analyze/steps/pauses.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "analyze/names/api_calls.h"
#include "analyze/names/ranges.h"
#include "analyze/recorded/scales.h"

namespace warpmark::analyze {

std::string what_paused(const Timeline& timeline, const StepSpan& span, std::string_view step,
                        const std::vector<bool>& in_steps) {
  const EventColumns& events = timeline.events;
  const std::int64_t length = span.end_ns - span.start_ns;
  EventIndex found = kNoEvent;
  std::pair<bool, bool> most;
  std::int64_t most_within = 0;
  const auto all = std::views::iota(EventIndex{0}, static_cast<EventIndex>(events.size()));
  const std::int64_t from = span.start_ns - length;  // what begins earlier and ends within is mostly of what was before
  for (EventIndex i = *std::ranges::lower_bound(all, from, {}, [&](EventIndex one) { return events.start[one]; });
       i < events.size() && events.start[i] < span.end_ns; ++i) {
    const EventKind kind = events.kind[i];
    const bool range = kind == EventKind::annotation || kind == EventKind::python || kind == EventKind::op ||
                       kind == EventKind::runtime_api;
    const std::int64_t within = std::min(events.end(i), span.end_ns) - std::max(events.start[i], span.start_ns);
    if (!range || within * 2 <= std::max(length, events.duration[i])) continue;
    if (is_same_but_digits(timeline.name_of(i), step)) continue;
    const std::pair worth{waits_for_input(timeline.name_of(i)), !in_steps[events.name[i]]};
    // Of ranges within one another that take as long, the innermost.
    const bool as_long = static_cast<double>(within) >= kNearlyAll * static_cast<double>(most_within);
    if (found != kNoEvent && (worth < most || (worth == most && !as_long))) continue;
    found = i, most = worth, most_within = std::max(most_within, within);
  }
  return found != kNoEvent ? std::string(timeline.name_of(found)) : "";
}

}  // namespace warpmark::analyze
