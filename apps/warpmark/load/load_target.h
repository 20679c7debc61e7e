// Which server a load is for, with its keys, from the options.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "serving/client/prepare_load.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Usage error for keys that stand on the command line themselves; env:NAME and file:PATH name where they are.
[[nodiscard]] Result<serving::Target> load_target_of(const Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
