// Rows of a table in host memory that the host gathers and then copies to the GPU.
#pragma once

#include <span>

#include "analyze/recorded/steps.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct HostGathers {
  double count = 0;  ///< in the steps
  double ns = 0;
};

/// Operators of the host that pick rows by index for longer than 300 us, right before an upload.
[[nodiscard]] HostGathers find_host_gathers(const Timeline& timeline, const WorkList& list,
                                            std::span<const StepSpan> steps);

}  // namespace warpmark::analyze
