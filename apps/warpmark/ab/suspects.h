// Where `warpmark check` finds a metric worse: whom to ask. The commits since the last good session, and with --bisect
// the one of them.
#pragma once

#include <functional>

#include "base/options.h"
#include "base/result.h"
#include "model/check.h"
#include "validate/commands/command_spec.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Nothing where no metric is worse. What git cannot tell is the suspects' reason, and no error.
[[nodiscard]] std::optional<Suspects> suspects_of(const Check& check);

/// Searches among them by building and running the command of `spec` at its commits, at most for `budget_s` (0 is
/// without limit), and keeps the result in them. Usage error where the command does not have the metric that became
/// worse; errors as for search_culprit.
[[nodiscard]] Status search_among(Suspects& suspects, Context& context, const ParsedOptions& options,
                                  validate::CommandSpec spec, double effect, double budget_s);

}  // namespace warpmark::apps
