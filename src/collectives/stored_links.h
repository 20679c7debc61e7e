// Links as Runs, so that the store, compare, check, trend and accept know them. Pure.
#pragma once

#include <optional>
#include <vector>

#include "collectives/calls/gpu_links.h"
#include "collectives/results/verdict.h"
#include "model/run.h"

namespace warpmark::collectives {

/// One run a cell of the matrices: workload "gpu_link" with from, to and what (write, read, both), or "host_link" with
/// gpu and what (to_gpu, from_gpu, both), whose metric is "bandwidth"; and of each pair one with what=latency, whose
/// metric is "time". GPUs are told by their place in NVML's order. Cells that were not measured have none.
[[nodiscard]] std::vector<Run> runs_of(const Links& links, std::int64_t bytes);

/// The slowest and the median of what a session says of writes and reads between GPUs; none where it has none.
[[nodiscard]] std::optional<MeasuredLinks> measured_links(const Session& session);

}  // namespace warpmark::collectives
