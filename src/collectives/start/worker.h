// One process of a sweep: started by launch.h, or by the user's own mpirun or srun. It finds the others, runs the plan,
// and watches itself: without progress for the plan's time-out it says where it is and asks for the end.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "collectives/calls/plan.h"
#include "collectives/start/sweep.h"

namespace warpmark::collectives {

struct WorkerOptions {
  bool alone = false;                                                   ///< one process with several GPUs, without MPI
  bool started_by_us = false;                                           ///< it ends when who started it does
  std::function<void(const std::string& kind, const Json& json)> tell;  ///< results: process 0 only. Any thread
  /// Of every process that is stuck, with "doing"; and once a second of process 0, with "alive". Any thread.
  std::function<void(const Json& state)> tell_state;
};

[[nodiscard]] Status run_worker(const Plan& plan, const WorkerOptions& options);

/// Rank and number of ranks where this process was started by mpirun or srun; pure but for the environment.
struct Placed {
  int rank = 0;
  int ranks = 1;
};
[[nodiscard]] std::optional<Placed> placed_by(const char* (*environment)(const char* name));

}  // namespace warpmark::collectives
