// Programs that can be recorded while they run: `warpmark profile --dormant` starts one, `--pid` wakes its recorder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "profile/collectors/record_program.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Becomes the command, with a recorder that sleeps: CUPTI's, or with `torch` that of the Python hook. Returns only
/// where it cannot be started.
[[nodiscard]] Result<int> start_dormant(Context& context, std::vector<std::string> command, bool torch);

/// Records what --pid names: a process, or with "all" every program of this user that was started so on this machine.
[[nodiscard]] Result<profile::RecordOutcome> record_dormant(Context& context, const std::string& programs,
                                                            profile::RecordOptions& record);

}  // namespace warpmark::apps
