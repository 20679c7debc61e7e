// --goal of `run` and `scale`: prints each goal with what was measured.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "model/run.h"
#include "validate/judge/gates.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Usage error for what is not a goal. Before anything is measured.
[[nodiscard]] Status check_goals(const ParsedOptions& options);
[[nodiscard]] Result<std::vector<validate::Goal>> goals_of(const ParsedOptions& options);

/// Whether all are met; true without any. Usage error for a metric that no run has.
[[nodiscard]] Result<bool> meets_goals(Context& context, const ParsedOptions& options, std::span<const Run> runs);

}  // namespace warpmark::apps
