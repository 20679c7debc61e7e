// Training until a quality is reached: time, samples and cost to it.
#pragma once

#include <string>

#include "base/result.h"
#include "model/params.h"
#include "model/run.h"
#include "workloads/models/model_shape.h"
#include "workloads/models/model_workers.h"

namespace warpmark::workloads {

/// "accuracy>=0.759", "loss<=2.5", "auc>=0.8".
struct QualityGoal {
  std::string metric;
  double target = 0;
};

/// Usage error for anything else.
[[nodiscard]] Result<QualityGoal> parse_quality_goal(const std::string& text);

/// One training of a worker that is prepared, until the goal of the parameter `until`: fills metrics and cost of `run`.
/// What did not reach the goal is failed and has no time. Data error where the worker's account contradicts our clock.
/// `round` numbers its log.
[[nodiscard]] Status measure_quality(const Params& params, const ModelShape& shape, int round, ModelWorkers& workers,
                                     Run& run);

}  // namespace warpmark::workloads
