// Programs that can be recorded while they run: `warpmark profile --dormant` starts one, `--pid` wakes its recorder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Becomes the command, with a recorder that sleeps: CUPTI's, or with `torch` that of the Python hook. Returns only
/// where it cannot be started.
[[nodiscard]] Result<int> start_dormant(Context& context, std::vector<std::string> command, bool torch);

/// Where sleeping recorders of this user sample Python's stacks.
[[nodiscard]] Result<std::filesystem::path> dormant_stacks();

}  // namespace warpmark::apps
