// What the recording tells of the message that a communication kernel sent.
#pragma once

#include <unordered_map>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// The collectives of a timeline by the event that describes them.
using CollectiveByEvent = std::unordered_map<EventIndex, const Collective*>;
[[nodiscard]] CollectiveByEvent collectives_by_event(const Timeline& timeline);

/// The collective of a communication kernel: newer recordings describe the kernel, older ones the operator that
/// launched it. nullptr if none does.
[[nodiscard]] const Collective* collective_of(const GpuWork& work, const WorkList& list,
                                              const CollectiveByEvent& by_event);

}  // namespace warpmark::analyze
