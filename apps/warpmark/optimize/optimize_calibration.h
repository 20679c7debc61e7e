// What was predicted and what was measured, kept in the history: written by every optimization, read by `optimize
// calibration`.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "model/optimization.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// A session with a run for each setting whose gain was both predicted and measured, and with the optimization.
[[nodiscard]] Status store_optimization(const Context& context, const ParsedOptions& options,
                                        const Optimization& optimization);

/// `warpmark optimize calibration`: of this machine.
[[nodiscard]] Result<int> show_calibration(Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
