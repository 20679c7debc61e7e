#include "analyze/host/hidden_waits.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analyze/names/api_calls.h"

namespace warpmark::analyze {

namespace {

using Ends = std::vector<std::pair<std::int64_t, std::size_t>>;  // end, index into works

/// What a thread may wait for. One that launches much waits for whatever is read, also by other threads; a thread of a
/// pool waits for what it launched itself, and else for something to do.
class Awaited {
 public:
  Awaited(const Timeline& timeline, const WorkList& list)
      : timeline_(timeline), list_(list), own_(timeline.tracks.size()) {
    for (std::size_t i = 0; i < list.works.size(); ++i) {
      const GpuWork& work = list.works[i];
      all_.emplace_back(work.end, i);
      if (work.launch != kNoEvent) own_[timeline.events.track[work.launch]].emplace_back(work.end, i);
    }
    std::sort(all_.begin(), all_.end());
    for (Ends& own : own_) std::sort(own.begin(), own.end());
  }

  /// What of the wait `event`, over by `until`, was for the GPU; ends before it starts if nothing was.
  [[nodiscard]] HiddenWait waited_for(EventIndex event, std::int64_t until) const {
    const EventColumns& events = timeline_.events;
    const std::uint32_t track = events.track[event];
    const auto* ended = last_end(track, events.start[event], until + kLatencyNs);
    if (ended == nullptr) return {};
    const GpuWork& work = list_.works[ended->second];
    // What is read may be copied by another thread. Anything else that another one launched meanwhile was not there to
    // be waited for: the thread waited for that one.
    const bool reads = work.category == Category::copy_to_host || work.launch == kNoEvent;
    const std::int64_t launched = reads ? events.start[event] : events.start[work.launch];
    return {.start = std::max(events.start[event], launched),
            .end = std::min(events.end(event), ended->first + kOwnWorkNs),
            .event = event,
            .track = track,
            .moves_data = reads && downloads_much(track, ended, events.start[event]),
            .reads = reads};
  }

 private:
  const Ends& ends_for(std::uint32_t track) const {
    const bool much = own_[track].size() * 5 >= all_.size();  // a fifth
    return much ? all_ : own_[track];
  }

  /// Of several copies to the host that the wait was for the last may be a small one.
  [[nodiscard]] bool downloads_much(std::uint32_t track, const Ends::value_type* last, std::int64_t from) const {
    const auto before = last - ends_for(track).data();
    for (std::ptrdiff_t i = 0; i <= before && last[-i].first > from; ++i) {
      if (list_.works[last[-i].second].downloads) return true;
    }
    return false;
  }

  /// The last that ended in (from, to], nullptr if none did.
  [[nodiscard]] const Ends::value_type* last_end(std::uint32_t track, std::int64_t from, std::int64_t to) const {
    const Ends& ends = ends_for(track);
    const auto next = std::upper_bound(ends.begin(), ends.end(), std::pair(to, SIZE_MAX));
    return next == ends.begin() || std::prev(next)->first <= from ? nullptr : &*std::prev(next);
  }

  const Timeline& timeline_;
  const WorkList& list_;
  Ends all_;
  std::vector<Ends> own_;  // by track
};

}  // namespace

std::vector<HiddenWait> find_hidden_waits(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  const NameSet waits(timeline.names, is_waiting_os_call);
  std::vector<HiddenWait> found;
  if (!waits.any()) return found;
  const Awaited awaited(timeline, list);
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> next_call(timeline.tracks.size(), kNever);
  for (EventIndex i = static_cast<EventIndex>(events.size()); i-- > 0;) {
    const EventKind kind = events.kind[i];
    if (is_api_call(kind)) next_call[events.track[i]] = events.start[i];
    if (kind != EventKind::os_call || !waits.contains(events.name[i]) || events.duration[i] < kDispatchNs) continue;
    const std::int64_t next = next_call[events.track[i]];
    const bool exact = timeline.name_of(i) != kBlockedThread || next == kNever;
    const auto wait = awaited.waited_for(i, exact ? events.end(i) : std::max(events.end(i), next));
    if (wait.end - wait.start >= kDispatchNs) found.push_back(wait);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<EventIndex> find_waits_for_release(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  enum class Call : std::uint8_t { other, wait, release };
  const std::vector<Call> calls = known_by_names(timeline.names, [](std::string_view name) {
    return is_release_call(name) ? Call::release : is_sync_call(name) ? Call::wait : Call::other;
  });
  std::vector<EventIndex> last(timeline.tracks.size(), kNoEvent);  // call of the thread
  std::vector<EventIndex> found;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i])) continue;
    EventIndex& before = last[events.track[i]];
    const bool waited = before != kNoEvent && calls[events.name[before]] == Call::wait;
    if (waited && calls[events.name[i]] == Call::release && events.start[i] - events.end(before) < kDispatchNs) {
      found.push_back(before);
    }
    before = i;
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace warpmark::analyze
