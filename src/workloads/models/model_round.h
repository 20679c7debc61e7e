// A round of a model: a fresh worker, its first step, steps until they are settled and then until their time is known,
// phases in windows of their own, and what proves that the steps trained.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "measure/round.h"

namespace warpmark::workloads {

/// Workload::measure of every model.
[[nodiscard]] Status measure_model(const measure::Case& what, device::Device& device,
                                   const measure::RoundOptions& options, Run& run);

// The peak of a model: every product, convolution, attention and memory traffic of a step, as the worker traced them,
// each timed by our own workloads. Their sum is the best that this machine does for the model's kernels, one after
// another.
//
// The list of a ResNet-50 has some seventy shapes, and preparing each takes longer than timing it. So the heaviest come
// first, those that are next to nothing are not timed, and some seconds are the most that is spent in a round: what is
// left counts at the rate of what is like it.

struct ModelPeak {
  double seconds = 0;  ///< of a step: all that could be timed
  double product_s = 0;
  double convolution_s = 0;
  double attention_s = 0;
  double memory_s = 0;
  double flops = 0;          ///< of the products, convolutions and attentions of the list
  double scaled = 0;         ///< of the operations and bytes: share that was not timed but counts as much as its like
  std::int64_t shapes = 0;   ///< distinct ones
  std::int64_t untimed = 0;  ///< distinct ones that none of our workloads can do here: the peak is too short by them
  std::string why;           ///< of the first that is untimed
};

/// `shapes` is the worker's list (src/workers/models/wm_shapes.py), `precision` the parameter of that name. `full`:
/// every shape is timed, however long that takes. A shape is timed once in a process and device. A backward pass of
/// attention counts as 2.5 forward ones (five products in place of two; Dao, "FlashAttention-2", 2023). Data error
/// where the list makes no sense, environment error where interrupted.
[[nodiscard]] Result<ModelPeak> model_peak(const Json& shapes, const std::string& precision, bool full,
                                           device::Device& device, const measure::RoundOptions& options);

}  // namespace warpmark::workloads
