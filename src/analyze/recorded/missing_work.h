// Work of the GPU that the recording lost: launches of whole CUDA graphs without a kernel, as profilers leave them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/recorded/intervals.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct MissingWork {
  std::int64_t graph_launches = 0;
  std::int64_t without_work = 0;  ///< of them
  /// From each such launch until the host has waited for it, or until other work begins: the GPU may have been busy.
  std::vector<Interval> unknown;
  /// Most graphs left nothing: what the GPU did is not known.
  [[nodiscard]] bool is_most() const { return without_work > 0 && without_work * 2 >= graph_launches; }
};

[[nodiscard]] MissingWork find_missing_work(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
