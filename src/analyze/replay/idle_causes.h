// Explains idle stretches of the GPU by what the host did in them.
#pragma once

#include <span>

#include "analyze/replay/breakdown.h"

namespace warpmark::analyze {

/// What an idle GPU's time belongs to while the host does this.
[[nodiscard]] Part part_of(HostCause cause);
/// Of these parts the host's function is named.
[[nodiscard]] bool is_named_by_host(Part part);

/// Adds the idle parts of `gaps` (disjoint, ascending) to `breakdown`; each nanosecond goes to one part. In a stretch
/// that ends with work W: until W's launch call begins, what the launching thread did (else the thread that launched
/// before); from there on, the launch. Dispatch after the host was made to wait for the GPU is attributed on that wait,
/// as far as the wait took the host's lead away.
void explain_idle(const BreakdownInput& input, std::span<const Interval> gaps, Breakdown& breakdown);

}  // namespace warpmark::analyze
