// The second cross-check of a model's steps: some of them once more under warpmark's own recorder, whose account of
// what the GPU did is held against what the worker says. A worker that leaves steps out, says more than it did, or does
// not wait for the GPU contradicts it, whatever its own clock shows.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/params.h"
#include "model/profile/timeline.h"
#include "workloads/models/model_workers.h"

namespace warpmark::workloads {

/// Steps of the cross-checked window. A prime: work of another number of steps does not come a multiple of seven times,
/// unless each of its kernels comes seven times in a step.
inline constexpr std::int64_t kCrossCheckedSteps = 7;

/// What the GPU did in a window.
struct CrossCheckedWork {
  std::int64_t launches = 0;  ///< of kernels
  std::int64_t in_steps = 0;  ///< those of kernels that came a multiple of `steps` times
  std::int64_t fewest = 0;    ///< times that the rarest of these kernels came; 0 without any
  double span_s = 0;          ///< from the first kernel or copy to the end of the last
  double busy_s = 0;          ///< of it with a kernel, copy or fill under way
};

/// From an instant on, in ns since the Unix epoch. Pure.
[[nodiscard]] CrossCheckedWork cross_checked_work(const Timeline& timeline, std::int64_t since_ns, std::int64_t steps);

/// What the worker says of it.
struct ReportedStep {
  std::int64_t steps = kCrossCheckedSteps;
  double window_s = 0;         ///< of the window that was recorded
  double step_s = 0;           ///< of the steps that were timed, which nothing recorded
  bool once_each_step = true;  ///< a step has a kernel that comes once: one batch a step, no loop over words
  bool equal_steps = true;     ///< all launch the same: there is no scaler, which leaves an update out now and then
};

/// How the two contradict each other; empty where they agree. Recording makes launches slower, so steps may be shorter
/// in the timed windows than in the recorded one, but not shorter than what their kernels take. Pure.
[[nodiscard]] std::string contradiction(const CrossCheckedWork& work, const ReportedStep& attribute);

struct WorkerReport {
  std::string doubt;  ///< as contradiction()
  std::string note;   ///< what was seen, or why nothing was
};

/// What the recorder says of a case on a GPU whose steps were timed as `step_s`; only a note where it cannot be heard.
[[nodiscard]] WorkerReport second_cross_check(ModelWorkers& workers, const Params& params, double step_s);

/// Starts the recorder in the worker's process, asks for steps and holds them against its claim, of which `window_s` is
/// filled in. Nothing is timed in this process afterwards: CUPTI stays in it.
[[nodiscard]] WorkerReport hear_recorder(ModelWorkers& workers, ReportedStep attribute, double deadline_s);

}  // namespace warpmark::workloads
