// Copies and kernels that are there for the host to see a value: Tensor.item(), and the checks of anomaly mode.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/debug_modes.h"
#include "analyze/work_list.h"
#include "model/timeline.h"

namespace warpmark::analyze {

/// Index into WorkList::works, ascending.
[[nodiscard]] std::vector<std::size_t> find_value_reads(const Timeline& timeline, const WorkList& list,
                                                        const DebugModes& modes);

}  // namespace warpmark::analyze
