// One-hot rows that are written out: a row a number, all zeros but one, then read by a sum or a matrix product. Rows
// picked or added by their number (an embedding, index_add_) move none of it.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/recorded/recorded_shapes.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct OneHotWork {
  std::size_t work = 0;  ///< index into WorkList::works
  float left = 0;        ///< share of its time that is left without one-hot rows
};

/// What `aten::one_hot` launches on the main stream, the conversions of its result, and, by the dimensions of
/// operators' inputs where those were recorded, the sums and products of what was converted right after.
[[nodiscard]] std::vector<OneHotWork> find_one_hots(const Timeline& timeline, const WorkList& list,
                                                    const RecordedShapes& shapes);

}  // namespace warpmark::analyze
