// `warpmark scale --power-cap-sweep`: the command under several caps on the GPUs' power, which are put back.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"
#include "warpmark/scaling/scale_runs.h"

namespace warpmark::apps {

/// Runs in rounds of random order. Changes nothing before everything else is known to be right.
Result<int> sweep_power_caps(Context& context, const ParsedOptions& options, const ScaleRequest& request);

/// The restorer that a sweep starts: what it is told stands on its command line.
Result<int> be_the_restorer(const ParsedOptions& options);

}  // namespace warpmark::apps
