// What Open MPI lets one choose for a collective: `collective --tune` over MPI goes through these one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collectives/calls/operation.h"
#include "collectives/results/tuning.h"

namespace warpmark::collectives {

/// What `ompi_info` tells of its parameters, a line each. Environment error where it is not there: other libraries than
/// Open MPI have other ways.
[[nodiscard]] Result<std::string> open_mpi_parameters();

/// Those of its parameters that exist in this version: the algorithm of this collective (one setting each), how ranks
/// of one host copy, and from which size on; between hosts, links and interfaces of TCP. Without the default. Pure.
[[nodiscard]] std::vector<Settings> open_mpi_settings(Collective kind, std::string_view parameters, bool several_hosts,
                                                      const std::vector<std::string>& interfaces);

}  // namespace warpmark::collectives
