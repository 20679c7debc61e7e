// Tables of embeddings of which a step reads few rows, but zeroes a gradient for all and updates all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/steps.h"
#include "analyze/work_list.h"
#include "model/timeline.h"

namespace warpmark::analyze {

struct DenseTables {
  std::vector<std::size_t> fills;  ///< works that zero a gradient, index into WorkList::works
  double tables = 0;               ///< in the steps
  double fill_ns = 0;              ///< of `fills` in the steps
  double update_ns = 0;            ///< of the optimizer in the steps, what the tables take of it
  double update_share = 0;         ///< of the optimizer's kernels
  double touched = 0;              ///< of the tables' rows, at most
};

/// Nothing where gradients of tables are sparse, most rows are used, or operators were not recorded.
[[nodiscard]] DenseTables find_dense_tables(const Timeline& timeline, const WorkList& list,
                                            std::span<const StepSpan> steps);

}  // namespace warpmark::analyze
