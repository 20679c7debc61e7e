// Modes for finding faults that were left on: the host looks at the result of every kernel or operator before it goes
// on. Told from the recording alone: neither the environment nor the program's text is in a profile.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct DebugModes {
  /// CUDA_LAUNCH_BLOCKING=1, or a tool that serializes: launch calls return when what they launched has ended.
  bool launches_block = false;
  double blocking_share = 0;  ///< of the launch calls whose work is known
  /// torch.autograd.set_detect_anomaly(True).
  bool anomaly_mode = false;
  double checked_share = 0;  ///< of the functions of the backward pass
  /// Operators that look for NaN after a function of the backward pass. Empty without anomaly mode.
  std::unordered_set<EventIndex> checks;
  /// ns at the beginning of operators of the forward pass in which they save the Python stack. Empty without.
  std::unordered_map<EventIndex, std::int64_t> stacks;
};

[[nodiscard]] DebugModes find_debug_modes(const Timeline& timeline, const WorkList& list);

/// A launch call that returned after the end of all that it launched.
[[nodiscard]] constexpr bool outlasts(std::int64_t call_end_ns, std::int64_t last_work_end_ns) {
  return call_end_ns >= last_work_end_ns;
}

}  // namespace warpmark::analyze
