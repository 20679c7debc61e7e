// What the time of a step means: samples, words and operations a second and a joule, and utilization by the datasheet.
#pragma once

#include <optional>

#include "model/machine.h"
#include "model/params.h"
#include "model/run.h"
#include "workloads/models/model_shape.h"

namespace warpmark::workloads {

struct ModelStep {
  const Params& params;
  const ModelShape& shape;
  const DeviceInfo& device;
  double ranks = 1;
  std::optional<double> joules;  ///< of a step
};

/// Metrics beside `time`, which is the run's first, and the note about utilization. The cost of GPUs becomes that of
/// one of them, as each is under its own peak; processors are shared.
void add_model_rates(const ModelStep& step, Run& run);

}  // namespace warpmark::workloads
