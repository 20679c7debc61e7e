// The mark by which those who watch see that a session measures.
#pragma once

#include <optional>

#include "base/options.h"
#include "model/run.h"
#include "store/running.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Beside the database. Nothing, and a warning, where it cannot be made: measuring does not depend on it.
[[nodiscard]] std::optional<store::RunningMark> running_mark(Context& context, const ParsedOptions& options,
                                                             const Session& session);

}  // namespace warpmark::apps
