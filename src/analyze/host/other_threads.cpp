// A thread that launches, and of which nothing was recorded for a while, waits for another thread of its process (for
// Python's lock, or for a result) where that does one thing for just as long.
#include <algorithm>

#include "analyze/host/host_activity.h"

namespace warpmark::analyze {

namespace {

/// The innermost of `others` that begins and ends with the stretch; kNoEvent if there is none.
EventIndex filling(const Timeline& timeline, const std::vector<EventIndex>& others, std::int64_t process,
                   std::int64_t from, std::int64_t to) {
  const EventColumns& events = timeline.events;
  const auto slack = static_cast<std::int64_t>((1 - kNearlyAll) * static_cast<double>(to - from));
  auto at = std::ranges::lower_bound(others, from - slack, {}, [&events](EventIndex i) { return events.start[i]; });
  EventIndex found = kNoEvent;
  for (; at != others.end() && events.start[*at] <= from + slack; ++at) {
    const ::warpmark::Track& track = timeline.tracks[events.track[*at]];
    const std::int64_t end = events.end(*at);
    const std::int64_t both = std::min(end, to) - std::max(events.start[*at], from);
    if (track.kind != TrackKind::cpu_thread || track.process != process) continue;
    if (end <= to + slack && both >= to - from - slack) found = *at;
  }
  return found;
}

}  // namespace

void HostActivity::name_by_other_threads(const Timeline& timeline, const std::vector<EventIndex>& of_other_threads) {
  if (of_other_threads.empty()) return;
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    Track& track = tracks_[t];
    for (std::size_t i = 0; i + 1 < track.time.size(); ++i) {
      if (!is_unrecorded(track.cause[i]) || track.time[i + 1] - track.time[i] <= kLongGlueNs) continue;
      const EventIndex other =
          filling(timeline, of_other_threads, timeline.tracks[t].process, track.time[i], track.time[i + 1]);
      if (other == kNoEvent) continue;
      track.cause[i] = HostCause::work;
      track.event[i] = other;
    }
  }
}

}  // namespace warpmark::analyze
