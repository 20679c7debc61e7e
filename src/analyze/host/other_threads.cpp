// What other tracks tell of a thread that launches. Where nothing was recorded of it for a while it waits for another
// thread of its process (for Python's lock, or for a result) that does one thing for just as long; and stacks that were
// sampled stand on tracks of their own.
#include <algorithm>
#include <map>

#include "analyze/host/host_activity.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"

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

/// Sampled stacks stand on tracks of their own. What a thread does for long, or waits for, is loading where a loader is
/// in most of the samples meanwhile: a frame begins and ends between samples.
void HostActivity::name_loading_by_stacks(const Timeline& timeline, const std::vector<bool>& wanted) {
  const EventColumns& events = timeline.events;
  const NameSet loads(timeline.names, names_data_loading);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Interval>> sampled;  // by process and thread
  for (EventIndex i = 0; i < events.size(); ++i) {
    const ::warpmark::Track& track = timeline.tracks[events.track[i]];
    if (events.kind[i] != EventKind::python || track.kind == TrackKind::cpu_thread) continue;
    if (loads.contains(events.name[i]))
      sampled[{track.process, track.thread}].push_back({events.start[i], events.end(i)});
  }
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    const auto found = sampled.find({timeline.tracks[t].process, timeline.tracks[t].thread});
    if (!wanted[t] || found == sampled.end()) continue;
    const Coverage in_loader(std::move(found->second));
    Track& track = tracks_[t];
    for (std::size_t i = 0; i + 1 < track.time.size(); ++i) {
      const std::int64_t length = track.time[i + 1] - track.time[i];
      const bool open = track.cause[i] == HostCause::input || (is_unrecorded(track.cause[i]) && length > kLongGlueNs);
      if (open && 2 * in_loader.covered(track.time[i], track.time[i + 1]) >= length)
        track.cause[i] = HostCause::data_loading;
    }
    found->second.clear();
  }
}

}  // namespace warpmark::analyze
