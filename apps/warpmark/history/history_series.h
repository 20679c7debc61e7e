// `warpmark history series`: which series there are, and the points of one.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Without a pattern the series, with one the points of those that match, newest first, at most --limit of each.
[[nodiscard]] Result<int> show_series(Context& context, const ParsedOptions& options, store::Store& store);

}  // namespace warpmark::apps
