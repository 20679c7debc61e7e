// The parts of `warpmark eval`, each in a file of its own.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "evaluate/models/model.h"
#include "evaluate/task.h"
#include "warpmark/command.h"

namespace warpmark::apps {

[[nodiscard]] Result<int> eval_score(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> eval_compare(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> eval_pareto(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> eval_run(Context& context, const ParsedOptions& options);
/// What makes a conversation partner for each thread, by --endpoint or --command.
[[nodiscard]] Result<evaluate::MakeModel> eval_partner(const Context& context, const ParsedOptions& options,
                                                       const evaluate::Task& task);
/// The metrics and official tasks.
[[nodiscard]] Result<int> eval_list(Context& context);

}  // namespace warpmark::apps
