#include "profile/readers/chrome/merged_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

/// Those of the streams with work; none if a stream has no rank or several.
std::set<int> ranks_with_work(const Timeline& whole, const std::vector<int>& ranks) {
  std::set<int> found;
  for (EventIndex i = 0; i < whole.events.size(); ++i) {
    if (!is_gpu_work(whole.events.kind[i])) continue;
    const std::uint32_t track = whole.events.track[i];
    if (track >= ranks.size() || ranks[track] < 0) return {};
    found.insert(ranks[track]);
  }
  return found;
}

NewEvent event_of(const Timeline& whole, EventIndex i, TimelineBuilder& builder) {
  const EventColumns& events = whole.events;
  NewEvent event{
      events.start[i], events.duration[i], events.value[i], builder.intern(whole.name_of(i)), 0, events.correlation[i],
      events.link[i],  events.detail[i],   events.kind[i]};
  event.track = builder.track(whole.tracks[events.track[i]]);
  if (event.kind == EventKind::kernel) event.detail = builder.launch_shape(whole.launch_shapes[event.detail]);
  if (event.kind == EventKind::op) event.detail = builder.intern(whole.names.at(event.detail));
  return event;
}

}  // namespace

std::vector<Timeline> split_by_rank(Timeline whole, const std::vector<int>& ranks) {
  std::vector<Timeline> parts;
  const std::set<int> with_work = ranks_with_work(whole, ranks);
  if (with_work.size() < 2) {
    parts.push_back(std::move(whole));
    return parts;
  }
  std::map<int, TimelineBuilder> builders;
  std::map<int, int> rank_of_device;
  for (const int rank : with_work) builders[rank].set_clock_origin(whole.origin_ns);
  const auto rank_of = [&](std::uint32_t track) {
    const int rank = track < ranks.size() ? ranks[track] : kNoRank;
    return with_work.contains(rank) ? rank : *with_work.begin();
  };
  for (std::uint32_t track = 0; track < whole.tracks.size(); ++track) {
    const Track& one = whole.tracks[track];
    if (one.kind == TrackKind::gpu_stream) rank_of_device.try_emplace(one.device, rank_of(track));
  }
  std::size_t next_collective = 0;
  for (EventIndex i = 0; i < whole.events.size(); ++i) {
    TimelineBuilder& builder = builders[rank_of(whole.events.track[i])];
    const EventIndex added = builder.add(event_of(whole, i, builder));
    for (; next_collective < whole.collectives.size() && whole.collectives[next_collective].event == i;
         ++next_collective) {
      Collective one = whole.collectives[next_collective];
      one.event = added;
      for (NameId* name : {&one.name, &one.data_type, &one.group}) *name = builder.intern(whole.names.at(*name));
      builder.add_collective(one);
    }
  }
  for (const CounterSeries& series : whole.counters) {
    const auto known = rank_of_device.find(series.device);
    TimelineBuilder& builder = builders[known == rank_of_device.end() ? *with_work.begin() : known->second];
    for (std::size_t i = 0; i < series.times.size(); ++i)
      builder.add_counter(series.id, series.unit, series.device, series.times[i], series.values[i]);
  }
  for (auto& [rank, builder] : builders) {
    Timeline part = builder.finish();
    part.rank = rank;
    part.world_size = whole.world_size;
    part.host = whole.host;
    part.format = whole.format;
    part.gpus = whole.gpus;
    part.metadata = whole.metadata;
    part.quality = rank == *with_work.begin() ? whole.quality : std::vector<DataQualityIssue>();
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace warpmark::profile
