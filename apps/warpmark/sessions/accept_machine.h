// Judging results and machine facts against a criteria file, and measuring what it asks for.
#pragma once

#include "model/acceptance.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Everything of `warpmark accept CRITERIA`. Usage or data error for criteria and results that cannot be used.
[[nodiscard]] Result<Acceptance> accept_machine(Context& context, const ParsedOptions& options,
                                                const std::string& criteria);

}  // namespace warpmark::apps
