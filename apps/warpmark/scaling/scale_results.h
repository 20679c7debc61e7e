// What `scale` measured, as runs: for the history, and for --goal.
#pragma once

#include <string>

#include "base/result.h"
#include "model/scaling.h"
#include "warpmark/command.h"
#include "warpmark/scaling/scale_runs.h"

namespace warpmark::apps {

/// Usage error for a --goal of no metric of `scale`, or in another unit. Before anything is measured.
[[nodiscard]] Status check_scale_goals(const ParsedOptions& options);

/// --goal of every number of workers, printed with what was measured. True without any.
[[nodiscard]] Result<bool> meets_goals_everywhere(Context& context, const ParsedOptions& options,
                                                  const ScaleRequest& request, const Scaling& scaling);

/// A session with a run for each number of workers, and the document; sets the id. Nothing with --no-store.
[[nodiscard]] Status store_scaling(Context& context, const ParsedOptions& options, const ScaleRequest& request,
                                   Scaling& scaling, const std::string& format);

}  // namespace warpmark::apps
