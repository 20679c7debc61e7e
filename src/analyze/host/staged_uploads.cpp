#include "analyze/host/staged_uploads.h"

#include <algorithm>

#include "analyze/names/api_calls.h"

namespace warpmark::analyze {

namespace {

constexpr double kSlowestCopyPerNs = 4;  // bytes, by one thread: 6 to 12 where the pages are there already

}  // namespace

std::vector<StagedUpload> find_staged_uploads(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  std::vector<bool> computes(timeline.tracks.size(), false);
  std::vector<StagedUpload> found;
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent) continue;
    const std::uint32_t track = events.track[work.launch];
    if (is_compute(work.category)) computes[track] = true;
    const bool stages =
        work.category == Category::copy_to_device && host_memory(events.detail[work.event]) == HostMemory::pinned;
    if (stages) found.push_back({events.start[work.launch], events.start[work.launch], work.event, track});
  }
  std::erase_if(found, [&computes](const StagedUpload& one) { return computes[one.track]; });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
  std::vector<EventIndex> last(timeline.tracks.size(), kNoEvent);  // event of the thread that ended last
  EventIndex next = 0;
  for (StagedUpload& one : found) {
    for (; next < events.size() && events.start[next] < one.end; ++next) {
      EventIndex& before = last[events.track[next]];
      if (before == kNoEvent || events.end(next) >= events.end(before)) before = next;
    }
    const EventIndex before = last[one.track];
    const bool waited =
        before != kNoEvent && events.kind[before] == EventKind::os_call && is_waiting_os_call(timeline.name_of(before));
    const auto most = static_cast<std::int64_t>(static_cast<double>(events.value[one.copy]) / kSlowestCopyPerNs);
    if (waited) one.start = std::min(one.end, std::max(events.end(before), one.end - most));
  }
  std::erase_if(found, [](const StagedUpload& one) { return one.start >= one.end; });
  return found;
}

}  // namespace warpmark::analyze
