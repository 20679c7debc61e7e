// `warpmark history import FILE...` and `history export [RUN]`: results from other tools, and for them.
#pragma once

#include "base/options.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Every file, or none where one cannot be read. Files that are stored already are told and left alone.
[[nodiscard]] Result<int> import_files(Context& context, const ParsedOptions& options, store::Store& store);

/// To --out, or to the terminal. What the format has no place for is told on the error stream.
[[nodiscard]] Result<int> export_session(Context& context, const ParsedOptions& options, store::Store& store);

}  // namespace warpmark::apps
