// A mode for finding faults that was left on: the host waits for every kernel before it goes on. Known from the
// recording alone: neither the environment nor the program's text is in a profile.
#pragma once

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct DebugModes {
  /// CUDA_LAUNCH_BLOCKING=1, or a tool that serializes: launch calls return when what they launched has ended.
  bool launches_block = false;
  double blocking_share = 0;  ///< of the launch calls whose work is known
};

[[nodiscard]] DebugModes find_debug_modes(const Timeline& timeline, const WorkList& list);

/// A launch call that returned after the end of all that it launched.
[[nodiscard]] constexpr bool outlasts(std::int64_t call_end_ns, std::int64_t last_work_end_ns) {
  return call_end_ns >= last_work_end_ns;
}

}  // namespace warpmark::analyze
