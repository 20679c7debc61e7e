// What the host does in a step that is far longer than the others.
#pragma once

#include <string>
#include <string_view>

#include "model/analysis.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// The longest range of the host that takes most of the pause, lies mostly within it and is no step itself, such as
/// "save_checkpoint"; first of all one in which the host waits for input. Empty if there is none. O(events that begin
/// within twice the length).
[[nodiscard]] std::string what_paused(const Timeline& timeline, const StepSpan& span, std::string_view step);

}  // namespace warpmark::analyze
