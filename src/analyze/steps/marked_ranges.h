// Ranges that a program or its profiler marked, grouped by name, with the GPU work that belongs to each: on the host's
// clock what was launched within them, on the GPU's clock what began within them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// One range. Times in ns; of the work 0 if it has none.
struct MarkedRange {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t work_ns = 0;     ///< sum of the durations of its GPU work
  std::int64_t first_work = 0;  ///< when the first of it began on the GPU, of the main stream if that has any
  std::int64_t last_work = 0;   ///< when the last of it ended
};

/// Ranges of one name (without digits) on one thread or stream, ascending.
struct RangeGroup {
  std::string name;
  EventKind kind = EventKind::annotation;  ///< annotation: the host's clock; gpu_annotation: the GPU's
  std::vector<MarkedRange> ranges;
  bool overlapping = false;    ///< ranges of the group overlap one another
  bool replays_graphs = true;  ///< each launches a CUDA graph
  bool alike = true;           ///< the names agree in their digits, too
  std::size_t concurrent = 0;  ///< ranges that a range of this name on another thread overlaps
  double work_share = 0;       ///< of all GPU work, 0..1
};

/// All groups of both kinds. Where no launch was recorded, work belongs to the host's ranges by its start.
[[nodiscard]] std::vector<RangeGroup> marked_ranges(const Timeline& timeline, const WorkList& list);

/// The same of Python functions that stacks show, by name without digits.
[[nodiscard]] std::vector<RangeGroup> calls_of_functions(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
