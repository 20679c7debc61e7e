// `warpmark net live`: what the network carries, a line a second, while a command runs or until told to end.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The exit code is that of the command, if there is one. Its output goes to standard error.
Result<int> show_live(Context& context, const ParsedOptions& options, const std::vector<std::string>& command);

}  // namespace warpmark::apps
