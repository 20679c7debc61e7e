// The critical path of the analyzed steps: the chain of activities of which each had to end before the next could
// begin, walked back from the end of the last step over the recorded graph. A work follows what ran before it on its
// stream, what it waited for on another stream, or its launch, whichever was last; a launch follows what its thread
// did, back to the last call that waited for the GPU; that call follows the work it waited for. After Hendriks and
// Vaandrager's retrospective method as HolisticTraceAnalysis applies it to PyTorch traces ("Lightweight Critical Path
// Analysis"), with the dependencies that times show where no records of waits between streams exist.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "analyze/host/host_activity.h"
#include "analyze/recorded/ranks.h"
#include "analyze/recorded/work_list.h"
#include "analyze/replay/breakdown.h"
#include "analyze/replay/replay.h"
#include "analyze/steps/steps.h"

namespace warpmark::analyze {

struct PathInput {
  const Timeline& timeline;
  const WorkList& list;
  const Steps& steps;
  const HostActivity& host;
  const RankAlignment& alignment;
  const Replay& replay;
};

/// Time on the path by what it belongs to, with the name of the host's function where one was recorded (else 0), ns as
/// recorded. Sums to the length of the steps.
using PathTimes = std::map<std::pair<Part, NameId>, std::int64_t>;

/// O(n log n).
[[nodiscard]] PathTimes critical_path(const PathInput& input);

}  // namespace warpmark::analyze
