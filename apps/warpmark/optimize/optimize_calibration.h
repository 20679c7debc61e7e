// What was foretold and what was measured, kept in the history: written by every journey, read by `optimize
// calibration`.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "model/journey.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// A session with a run for each setting whose gain was both foretold and measured, and with the journey.
[[nodiscard]] Status store_journey(const Context& context, const ParsedOptions& options, const Journey& journey);

/// `warpmark optimize calibration`: of this machine.
[[nodiscard]] Result<int> show_calibration(Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
