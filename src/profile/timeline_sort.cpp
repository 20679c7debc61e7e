// Radix sort (least significant digit first) of 4-byte indices, then each column is gathered through one shared buffer:
// 16 bytes an event in all, where sorting records would need twice the size of the events.
#include "profile/timeline_builder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace warpmark::profile {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

bool is_sorted(const EventColumns& events) {
  for (std::size_t i = 1; i < events.size(); ++i) {
    if (events.start[i] < events.start[i - 1]) return false;
    if (events.start[i] == events.start[i - 1] && events.duration[i] > events.duration[i - 1]) return false;
  }
  return true;
}

template <typename T>
EventColumn<T> column_of(std::size_t size) {
  EventColumn<T> column;
  column.reserve(size);
  for (std::size_t i = 0; i < size; ++i) column.push_back(T{});
  return column;
}

/// Indices in order of start, equal ones in their old order. `next` is room for as many. After the first digit the
/// indices are far from those before, and so are the times that they point to: these are asked for ahead, and counted
/// in one pass before.
EventColumn<std::uint32_t> order_by_start(const EventColumn<std::int64_t>& start, EventColumn<std::uint32_t>& next) {
  constexpr std::size_t kAhead = 24, kMostPasses = (64 + kDigitBits - 1) / kDigitBits;
  const auto [low, high] = std::minmax_element(start.begin(), start.end());
  const auto base = static_cast<std::uint64_t>(*low);
  const std::uint64_t range = static_cast<std::uint64_t>(*high) - base;
  std::size_t passes = 0;
  while (passes * kDigitBits < 64 && (range >> (passes * kDigitBits)) != 0) ++passes;
  std::array<std::array<std::uint32_t, kDigits>, kMostPasses> places{};
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::uint64_t left = static_cast<std::uint64_t>(start[i]) - base;
    for (std::size_t pass = 0; pass < passes; ++pass, left >>= kDigitBits) ++places[pass][left & (kDigits - 1)];
  }
  EventColumn<std::uint32_t> order = column_of<std::uint32_t>(start.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    auto& place = places[pass];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), std::uint32_t{0});
    for (std::size_t at = 0; at < order.size(); ++at) {
      if (at + kAhead < order.size()) __builtin_prefetch(&start[order[at + kAhead]]);
      const std::uint64_t key = (static_cast<std::uint64_t>(start[order[at]]) - base) >> (pass * kDigitBits);
      next[place[key & (kDigits - 1)]++] = order[at];
    }
    std::swap(order, next);
  }
  return order;
}

void longer_first(EventColumn<std::uint32_t>& order, const EventColumns& events) {
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && events.start[order[end]] == events.start[order[i]]) ++end;
    if (end - i > 1) {
      std::stable_sort(order.begin() + i, order.begin() + end,
                       [&](std::uint32_t a, std::uint32_t b) { return events.duration[a] > events.duration[b]; });
    }
    i = end;
  }
}

template <typename T>
void gather(EventColumn<T>& column, const EventColumn<std::uint32_t>& order, char* buffer) {
  T* sorted = reinterpret_cast<T*>(buffer);  // from malloc: aligned for all of them
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
  std::memcpy(column.begin(), sorted, order.size() * sizeof(T));
}

void move_collectives(Timeline& timeline, const EventColumn<std::uint32_t>& order, char* buffer) {
  if (timeline.collectives.empty()) return;
  auto* place = reinterpret_cast<EventIndex*>(buffer);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<EventIndex>(i);
  for (Collective& collective : timeline.collectives) collective.event = place[collective.event];
  std::sort(timeline.collectives.begin(), timeline.collectives.end(),
            [](const Collective& a, const Collective& b) { return a.event < b.event; });
}

template <typename T>
void compact(EventColumn<T>& column, const EventColumn<std::uint8_t>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] != 0) column[kept++] = column[i];
  }
  column.shrink_to(kept);
}

bool is_of_stream(const Timeline& timeline, EventIndex i) {
  const EventKind kind = timeline.events.kind[i];
  if (timeline.events.track[i] >= timeline.tracks.size()) return false;
  return is_gpu_work(kind) && kind != EventKind::graph &&
         timeline.tracks[timeline.events.track[i]].kind == TrackKind::gpu_stream;
}

}  // namespace

void sort_events(Timeline& timeline) {
  EventColumns& events = timeline.events;
  if (is_sorted(events)) return;
  EventColumn<std::uint32_t> room = column_of<std::uint32_t>(events.size());
  EventColumn<std::uint32_t> order = order_by_start(events.start, room);
  longer_first(order, events);
  const auto small = [&] {
    char* bytes = reinterpret_cast<char*>(room.begin());
    gather(events.name, order, bytes);
    gather(events.track, order, bytes);
    gather(events.correlation, order, bytes);
    gather(events.link, order, bytes);
    gather(events.detail, order, bytes);
    gather(events.kind, order, bytes);
  };
  std::thread auxiliary(small);
  EventColumn<std::int64_t> buffer = column_of<std::int64_t>(order.size());
  char* bytes = reinterpret_cast<char*>(buffer.begin());
  gather(events.start, order, bytes);
  gather(events.duration, order, bytes);
  gather(events.value, order, bytes);
  move_collectives(timeline, order, bytes);
  auxiliary.join();
}

void keep_events(Timeline& timeline, const EventColumn<std::uint8_t>& keep) {
  auto& collectives = timeline.collectives;
  if (!collectives.empty()) {
    std::erase_if(collectives, [&](const Collective& collective) { return keep[collective.event] == 0; });
    std::size_t next = 0;
    EventIndex kept = 0;
    for (std::size_t i = 0; i < keep.size() && next < collectives.size(); ++i) {
      for (; next < collectives.size() && collectives[next].event == i; ++next) collectives[next].event = kept;
      if (keep[i] != 0) ++kept;
    }
  }
  EventColumns& events = timeline.events;
  compact(events.start, keep);
  compact(events.duration, keep);
  compact(events.value, keep);
  compact(events.name, keep);
  compact(events.track, keep);
  compact(events.correlation, keep);
  compact(events.link, keep);
  compact(events.detail, keep);
  compact(events.kind, keep);
}

Overruns shorten_overruns(Timeline& timeline) {
  EventColumns& events = timeline.events;
  std::vector<std::vector<EventIndex>> streams(timeline.tracks.size());
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (is_of_stream(timeline, i)) streams[events.track[i]].push_back(i);
  }
  Overruns overruns;
  for (const std::vector<EventIndex>& works : streams) {
    for (std::size_t w = 0; w + 2 < works.size(); ++w) {
      const EventIndex work = works[w];
      const auto within = [&](std::size_t at) {
        const bool same_graph =
            events.correlation[works[at]] == events.correlation[work] && events.correlation[work] != 0;
        return !same_graph && events.start[works[at]] > events.start[work] && events.end(works[at]) < events.end(work);
      };
      if (!within(w + 1) || !within(w + 2)) continue;
      if (overruns.count++ == 0) overruns.example = timeline.name_of(work);
      events.duration[work] = events.start[works[w + 1]] - events.start[work];
    }
  }
  return overruns;
}

}  // namespace warpmark::profile
