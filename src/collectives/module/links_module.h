// Copies between GPUs and between each GPU and pinned host memory, timed by events.
#pragma once

#include "base/result.h"
#include "collectives/calls/gpu_links.h"

namespace warpmark::collectives {

[[nodiscard]] Result<Links> measure_links(const LinkOptions& options);

}  // namespace warpmark::collectives
