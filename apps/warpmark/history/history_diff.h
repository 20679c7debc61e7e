// `warpmark history diff`: two stored sessions of one machine set against each other, case by case.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// positionals: "diff", baseline, candidate. Environment error where the sessions come from different machines.
[[nodiscard]] Result<int> diff_sessions(Context& context, const ParsedOptions& options, store::Store& store);

}  // namespace warpmark::apps
