// `warpmark plan --step-time`: data parallelism predicted from the step of one GPU and sweeps of a collective.
#pragma once

#include <string>

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Prints and writes what is asked for; the exit code.
[[nodiscard]] Result<int> plan_steps(Context& context, const ParsedOptions& options, const std::string& format);

}  // namespace warpmark::apps
