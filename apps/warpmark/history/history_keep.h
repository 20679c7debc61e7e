// `warpmark history tag` and `history prune`: what is kept by name, and what goes.
#pragma once

#include "base/options.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

[[nodiscard]] Result<int> tag_session(Context& context, const ParsedOptions& options, store::Store& store);

/// Shows what would go, and deletes it with --yes only. Sessions with a tag stay.
[[nodiscard]] Result<int> prune_sessions(Context& context, const ParsedOptions& options, store::Store& store);

}  // namespace warpmark::apps
