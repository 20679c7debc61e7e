// Copies that a program makes and need not: tensors copied whole to append to them, and keys and values that are laid
// out anew for a product that could read them where they are.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analyze/recorded/recorded_shapes.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// Works from a product of attention to those that make what it reads: copies, scaling and casts of Q and K, and the
/// mask.
inline constexpr int kReachOfAttention = 12;

/// A tensor that grows by a few rows at a time, each time as a copy of the whole: a cache of keys and values, a list of
/// results. Written into room that is there from the start, only the new rows are moved.
struct Append {
  std::size_t work = 0;  ///< index into WorkList::works
  double added = 0;      ///< share of the result that is new, at most 1/32
};

/// By the sizes of what `aten::cat` joins; none where those were not recorded.
[[nodiscard]] std::vector<Append> find_appends(const Timeline& timeline, const WorkList& list,
                                               const RecordedShapes& shapes);

/// Copies on the main stream, with nothing but elementwise kernels between, before a work that `is_product` accepts and
/// at least as long as it, as where keys and values are repeated for every head. Index into WorkList::works.
[[nodiscard]] std::vector<std::size_t> find_copies_before_products(const Timeline& timeline, const WorkList& list,
                                                                   const std::function<bool(std::size_t)>& is_product);

}  // namespace warpmark::analyze
