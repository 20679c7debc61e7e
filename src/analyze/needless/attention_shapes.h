// Attention written out, told by the shapes of operators' inputs: a tensor of scores is what a softmax reads, and a
// matrix product then too.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/recorded/recorded_shapes.h"
#include "analyze/recorded/work_list.h"

namespace warpmark::analyze {

/// What makes, passes over or reads scores; empty where no shapes tell. Indices into WorkList::works.
[[nodiscard]] std::vector<std::size_t> find_attention_by_shape(const WorkList& list, const RecordedShapes& shapes);

}  // namespace warpmark::analyze
