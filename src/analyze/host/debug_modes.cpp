// Launches are asynchronous: the call returns while its kernel still waits for the GPU or runs, as handing it over
// takes about 4 us, longer than what is left of the call. With CUDA_LAUNCH_BLOCKING=1 it returns afterwards, always
// (CUDA C++ Programming Guide, "Concurrent Execution between Host and Device"). Of 140 recordings without it none had
// more than 3 of 100 such calls, the one with it had all.
#include "analyze/host/debug_modes.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/names/api_calls.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

void find_blocking_launches(const Timeline& timeline, const WorkList& list, DebugModes& modes) {
  const EventColumns& events = timeline.events;
  const NameSet launches(timeline.names, is_launch_call);
  std::unordered_map<EventIndex, std::int64_t> last_end;
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent || !launches.contains(events.name[work.launch])) continue;
    const bool clocks_agree = work.start >= events.start[work.launch];
    std::int64_t& end = last_end[work.launch];
    end = std::max(end, clocks_agree ? work.end : INT64_MAX);
  }
  double blocking = 0;
  for (const auto& [call, end] : last_end) blocking += outlasts(events.end(call), end);
  const auto all = static_cast<double>(last_end.size());
  modes.blocking_share = all > 0 ? blocking / all : 0;
  modes.launches_block = last_end.size() >= kFewLaunches && modes.blocking_share >= kNearlyAll;
}

}  // namespace

DebugModes find_debug_modes(const Timeline& timeline, const WorkList& list) {
  DebugModes modes;
  find_blocking_launches(timeline, list, modes);
  return modes;
}

}  // namespace warpmark::analyze
