// A round of a model: a fresh worker, its first step, steps until they are settled and then until their time is known,
// phases in windows of their own, and what proves that the steps trained.
#pragma once

#include "measure/round.h"

namespace warpmark::workloads {

/// Workload::measure of every model.
[[nodiscard]] Status measure_model(const measure::Case& what, device::Device& device,
                                   const measure::RoundOptions& options, Run& run);

}  // namespace warpmark::workloads
