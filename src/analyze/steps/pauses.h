// What the host does in a step that is far longer than the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/analysis.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// The longest range of the host that takes most of the pause, lies mostly within it and is no step itself, such as
/// "save_checkpoint"; first of all one in which the host waits for input, then one that is in no other step
/// (`in_steps`, by NameId). Empty if there is none. O(events that begin within twice the length).
[[nodiscard]] std::string what_paused(const Timeline& timeline, const StepSpan& span, std::string_view step,
                                      const std::vector<bool>& in_steps);

}  // namespace warpmark::analyze
