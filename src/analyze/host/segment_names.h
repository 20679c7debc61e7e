// What the host did between two works, told by the works themselves: one policy for idle stretches and for the replay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/host/host_activity.h"

namespace warpmark::analyze {

/// The works on both sides of a stretch of host time.
struct BetweenWorks {
  bool to_upload = false;       ///< the next one uploads data
  bool between_values = false;  ///< both only read a value
  std::int64_t downloaded = 0;  ///< bytes that the next one copies to the host
  std::int64_t step_ns = 0;
  const Timeline& timeline;
};

/// Nothing that was recorded but a step, or a range of the user's or an operator that goes on behind the segment: it is
/// there for what it launches then.
[[nodiscard]] bool is_part_of_launching(const Timeline& timeline, const HostSegment& segment);

/// Renames segments of a stretch for what surrounds it:
/// - Long host work without a name that ends with an upload prepares the input: what dispatches there loads if it
///   (without recording costs) lasts longer than 500 us and 2 % of a step.
/// - Between two reads of values with no other work of the GPU the operators only pick the next value (`x[i][j]`): one
///   copy of all of them needs none, nor the glue between them (below 20 us): reading.
/// - Whole operators and the glue between them that launch nothing for so long (500 us) are no dispatching: work of the
/// host, named by the user's range around it if there is one.
///   Before a copy to the host the program makes room for what comes, and the driver copies it there: what takes no
///   longer than that is a part of the copy.
/// `working`: those of `segments` in which the host may have worked on its own, as no queue held it back.
void name_by_works(const BetweenWorks& between, std::span<HostSegment> segments, std::span<HostSegment> working);

}  // namespace warpmark::analyze
