// The host's lead over the GPU, and what waits for the GPU cost by taking it away.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

/// Idle time a step of the critical rank that no wait is next to, but that would be hidden without waits within the
/// step: the host would be ahead. Blamed on cpu_gpu_sync, and not on launch_overhead. ns; 0 if nothing waits.
[[nodiscard]] double lost_lead_ns(const Evidence& evidence);

}  // namespace warpmark::analyze
