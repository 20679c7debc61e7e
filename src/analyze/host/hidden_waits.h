// Waits of a thread for the GPU that no call of CUDA tells. XLA lets the GPU call a function of the host, which wakes
// the thread from a condition variable (xla/stream_executor, Stream::DoHostCallback): between two calls the thread is
// off the processor until what it waits for has ended. Known from calls of the operating system that wait, and from the
// thread's processor time (recordings of warpmark's own).
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// From when the thread was off the processor until the work that it waited for had ended and it ran again.
struct HiddenWait {
  std::int64_t start = 0;
  std::int64_t end = 0;
  EventIndex event = kNoEvent;  ///< of kind os_call
  std::uint32_t track = 0;
  bool moves_data = false;  ///< what ended was a copy to the host of more than a value, or several
  bool reads = false;       ///< what ended last was a copy to the host
};

/// Ascending by start. Waits in which no work of the GPU ended are none: the thread waited for something else.
/// O(events + waits log works).
[[nodiscard]] std::vector<HiddenWait> find_hidden_waits(const Timeline& timeline, const WorkList& list);

/// Calls that wait right before memory is given back (XLA's and PyTorch's allocators do so, as what frees memory must
/// not overtake its last use): who keeps the memory needs no wait. Ascending.
[[nodiscard]] std::vector<EventIndex> find_waits_for_release(const Timeline& timeline);

}  // namespace warpmark::analyze
