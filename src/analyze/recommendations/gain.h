// A predicted speedup as an interval that its evidence supports: from half of the cause removed to all of it. What a
// recording alone cannot tell is a bound. Amdahl's law bounds both (analyze.cpp).
#pragma once

#include <string>

#include "model/finding.h"

namespace warpmark::analyze {

/// `all`: the speedup if nothing of the cause is left. Below 1 counts as 1.
[[nodiscard]] Gain gain_up_to(double all, std::string method);

/// Amdahl's law: the speedup if all of what was lost is gained, at most 1000.
[[nodiscard]] double amdahl(double lost_ns, double whole_ns);

/// Nothing but the bound is known.
[[nodiscard]] Gain at_most(double bound, std::string method);

}  // namespace warpmark::analyze
