// `warpmark optimize --from-history A..B`: the report of an optimization from the stored sessions of one's own commits.
#pragma once

#include "base/result.h"
#include "warpmark/command.h"
#include "warpmark/optimize/optimize_request.h"

namespace warpmark::apps {

/// Starts nothing and stores nothing. Usage error where fewer than two commits of the range are measured on this
/// machine, or where several series fit.
[[nodiscard]] Result<int> show_history_report(Context& context, const ParsedOptions& options,
                                              const OptimizeRequest& request);

}  // namespace warpmark::apps
