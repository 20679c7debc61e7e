// Tensors that a chain of elementwise kernels makes from far smaller ones and reduces again at once, as in the
// distances of all pairs. A fused kernel, or a matrix product that computes the same, never writes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/recorded/recorded_shapes.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// For each work of the chain the share of its time that is left without such tensors; 1 where it has none to do with.
[[nodiscard]] std::vector<double> left_without_expanded(const Timeline& timeline, const WorkList& list,
                                                        std::span<const std::size_t> chain,
                                                        const RecordedShapes& shapes);

}  // namespace warpmark::analyze
