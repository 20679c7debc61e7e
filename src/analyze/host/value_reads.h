// Copies and kernels that are there for the host to see a value: Tensor.item(), what asks the question whose answer it
// reads, loops that read value after value, and the checks of anomaly mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/host/debug_modes.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct ValueReads {
  std::vector<std::size_t> works;  ///< index into WorkList::works, ascending
  std::int64_t rounds = 0;         ///< of loops that read value after value
};

[[nodiscard]] ValueReads find_value_reads(const Timeline& timeline, const WorkList& list, const DebugModes& modes);

}  // namespace warpmark::analyze
