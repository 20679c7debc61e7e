// The roofline of what was measured (Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model",
// CACM 52(4), 2009), with a third peak for short work: the cost of a launch. All peaks come from runs of the same
// session, never from a datasheet.
//
// The model's time is max(FLOPs / peak rate, bytes / bandwidth, launch cost); the largest term names the bound, and
// model time / measured time is the share of the peak.
#pragma once

#include <span>
#include <vector>

#include "model/machine.h"
#include "model/run.h"

namespace warpmark::analyze {

/// The best of every limit that these runs reached, one a device and scope. Unreliable runs count only where no other
/// run has that limit, and Ceiling::unreliable says so; failed runs set none.
[[nodiscard]] std::vector<Ceiling> ceilings_from(std::span<const Run> runs, const Machine& machine);

/// Whether this run is the one that reached the limit.
[[nodiscard]] bool is_set_by(const Ceiling& limit, const Run& run);

/// Memory level that a footprint of this many bytes lives in: "L1", "L2", "L3", "memory".
[[nodiscard]] std::string level_of(const DeviceInfo& device, double footprint_bytes);

/// Where a measured run stands. Bound::unknown with a reason where the ceiling of its own kind was not measured: the
/// peak rate for work that is counted in FLOP/s, the bandwidth for work that is counted in B/s. Where the other one is
/// missing, the share is "at least".
[[nodiscard]] Peak share_of_peak(const Run& run, const DeviceInfo& device, std::span<const Ceiling> ceilings);

}  // namespace warpmark::analyze
