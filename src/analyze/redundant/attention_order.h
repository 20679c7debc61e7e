// Attention written out, told by the order of kernels where the shapes of operators were not recorded.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// The kernels around each softmax, up to and with the matrix products on both sides of it: indices into
/// WorkList::works. `order`: works_of_main_stream().
[[nodiscard]] std::vector<std::size_t> find_attention_by_order(const Timeline& timeline, const WorkList& list,
                                                               std::span<const std::size_t> order);

}  // namespace warpmark::analyze
