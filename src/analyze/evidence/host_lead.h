// The host's lead over the GPU, and what waits for the GPU and slow updates cost by taking it away.
#pragma once

#include "analyze/evidence/what_ifs.h"

namespace warpmark::analyze {

/// What a removal gains a step of the critical rank, as replayed and calibrated, beyond the `recorded_ns` that its
/// idle parts and kernels show: idle time further away that has the same cause. ns, at least 0.
[[nodiscard]] double further_loss_ns(const Removal& removal, const Facts& facts, double recorded_ns);

/// What launch calls that waited for their work (DebugModes) took beyond a plain one, ns a step. 0 if they do not.
[[nodiscard]] double blocked_in_launches_ns(const RankEvidence& rank);

/// Idle time a step that no wait is next to, but that would be hidden without waits within the step: the host would be
/// ahead. Blamed on cpu_gpu_sync, and not on launch_overhead. ns; 0 if nothing waits.
[[nodiscard]] double lost_lead_ns(const Facts& facts);

/// The same of calls that allocate and free, which keep the host from getting ahead. Blamed on memory_allocation, and
/// not on launch_overhead. ns; 0 if nothing idles because of them.
[[nodiscard]] double late_by_allocations_ns(const Facts& facts);

/// The same of an optimizer that updates parameters one by one. Blamed on optimizer, and not on launch_overhead. ns
[[nodiscard]] double late_updates_ns(const Facts& facts);

}  // namespace warpmark::analyze
