// The search for the commit that changed a metric, as `warpmark bisect` and `warpmark check --bisect` run it.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "model/bisection.h"
#include "validate/commands/command_spec.h"
#include "validate/guard/bisect_run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// `spec` has the one metric that is searched for. Of `options` --db and --name count. Fills the request's prior and
/// ways out. Worktrees are gone when this returns, whatever happened; what was measured stays until the search is over,
/// so that the same search goes on where it was, unless `fresh`.
[[nodiscard]] Result<Bisection> search_culprit(Context& context, const ParsedOptions& options,
                                               validate::CommandSpec spec, validate::BisectRequest& request,
                                               bool fresh);

}  // namespace warpmark::apps
