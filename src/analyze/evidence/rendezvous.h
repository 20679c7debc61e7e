// Why one rank came later than another to the collectives in which they met.
#pragma once

#include <vector>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// What of each rank's waiting for the critical one is that one's host, which loaded, or dispatched its own kernels,
/// later since both last went on together, ns a step: no communication, but data_loading, launch_overhead, optimizer or
/// the recording of that rank, and what of it is load_imbalance (attributed_host_ns). A collective that computing hides
/// holds nobody: who was late at the first of them is as late at the last, which is waited for.
[[nodiscard]] std::vector<double> waiting_for_host_ns(const Facts& facts);

}  // namespace warpmark::analyze
