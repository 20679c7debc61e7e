// Reads bytes as one format of profile and checks what the rest of the program relies on.
#pragma once

#include <cstdlib>
#include <string_view>

#include "profile/catalog.h"

namespace warpmark::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    require(events.start[i] >= 0 && events.duration[i] >= 0);
    require(i == 0 || events.start[i - 1] <= events.start[i]);
    require(events.name[i] < timeline.names.size() && events.track[i] < timeline.tracks.size());
    if (events.kind[i] == EventKind::kernel) require(events.detail[i] < timeline.launch_shapes.size());
    if (events.kind[i] == EventKind::op) require(events.detail[i] < timeline.names.size());
  }
  for (const Collective& one : timeline.collectives) require(one.event < events.size());
}

inline void read_profile(std::string_view reader_id, std::string_view bytes, const profile::ReadOptions& options = {}) {
  const profile::TraceReader* reader = find_in(profile::readers(), reader_id);
  require(reader != nullptr);
  (void)reader->sniff(bytes.substr(0, profile::kSniffBytes));
  const auto source = profile::memory_source(bytes);
  ProfileSession session;
  if (!reader->read(*source, options, session).ok()) return;
  for (const Timeline& timeline : session.ranks) check(timeline);
  for (const CounterSeries& series : session.counters) {
    require(series.times.size() == series.values.size());
    for (std::size_t i = 1; i < series.times.size(); ++i) require(series.times[i - 1] <= series.times[i]);
  }
}

}  // namespace warpmark::fuzz
