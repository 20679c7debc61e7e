// Runs that a verb has made of its results, as a session of the store.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Unless --no-store is given or there are none. Numbers the runs, and notes the session for a person where `format` is
/// "text".
[[nodiscard]] Status store_runs(Context& context, const ParsedOptions& options, std::vector<Run> runs, bool complete,
                                const std::string& stopped_because, const std::string& format);

}  // namespace warpmark::apps
