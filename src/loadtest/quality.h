// `warpmark load run --eval TASK`: the questions of a task are the load, and what was answered is scored, so that
// quality stands beside latency (LoadGen's accuracy mode).
#pragma once

#include <memory>
#include <vector>

#include "accuracy/scoring/metric_set.h"
#include "base/result.h"
#include "evaluate/items.h"
#include "evaluate/run_task.h"
#include "loadtest/prepare.h"
#include "serving/client/prepare_load.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

struct LoadQuestions {
  evaluate::LoadedTask inputs;
  std::vector<evaluate::Item> items;
  accuracy::MetricSet metrics;
  accuracy::ScoreOptions scoring;
};

/// Usage error for a task that weighs tokens or shows pictures, and for an endpoint that its questions do not fit.
[[nodiscard]] Result<std::shared_ptr<const LoadQuestions>> questions_of(const PreparedLoad& request,
                                                                        const Surroundings& around);

/// The request bodies, in the order of the items.
[[nodiscard]] std::vector<serving::DatasetRow> rows_of(const LoadQuestions& questions, const serving::Target& target);

/// Scores the first answer to each question that was asked, of several turns the last one; a failed request is a wrong
/// answer. Adds metrics named "quality.NAME".
[[nodiscard]] Status add_quality(const LoadQuestions& questions, const std::atomic<bool>& interrupted,
                                 serving::ScenarioResult& result);

}  // namespace warpmark::loadtest
