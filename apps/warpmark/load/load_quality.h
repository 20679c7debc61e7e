// `warpmark load run --eval TASK`: the questions of a task are the load, and what was answered is scored, so that
// quality stands beside latency (LoadGen's accuracy mode).
#pragma once

#include <memory>
#include <vector>

#include "accuracy/scoring/scores.h"
#include "base/result.h"
#include "evaluate/items.h"
#include "evaluate/run_task.h"
#include "serving/client/prepare_load.h"
#include "serving/results/load_result.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/load/load_request.h"

namespace warpmark::apps {

struct LoadQuestions {
  evaluate::LoadedTask inputs;
  std::vector<evaluate::Item> items;
  EvalMetrics metrics;
  accuracy::ScoreOptions scoring;
};

/// Usage error for a task that weighs tokens or shows pictures, and for an endpoint that its questions do not fit.
[[nodiscard]] Result<std::shared_ptr<const LoadQuestions>> load_questions_of(const Context& context,
                                                                             const LoadRequest& request);

/// The request bodies, in the order of the items.
[[nodiscard]] std::vector<serving::DatasetRow> rows_of(const LoadQuestions& questions, const serving::Target& target);

/// Scores the first answer to each question that was asked, of several turns the last one; a failed request is a wrong
/// answer. Adds metrics named "quality.NAME".
[[nodiscard]] Status add_quality(const Context& context, const LoadQuestions& questions,
                                 serving::ScenarioResult& result);

}  // namespace warpmark::apps
