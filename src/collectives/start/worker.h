// One process of a sweep: started by launch.h, or by the user's own mpirun or srun. It finds the others, runs the plan,
// and watches itself: without progress for the plan's time-out it says where it is and asks for the end.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "base/result.h"
#include "collectives/calls/engine.h"
#include "collectives/calls/plan.h"
#include "collectives/results/row.h"

namespace warpmark::collectives {

// Runs a plan on an engine: for each size, agree, warm up, time, check what was timed, and tell rank 0's listener.
//
// As nccl-tests does, iterations follow each other without a barrier, and each uses other buffers as far as memory
// goes. A call that destroys its input (an in-place reduction) gets it back after each round of the buffers, outside
// the timed stretch, so that what is checked is what the timed calls wrote.

/// What this process is at, for who watches that it gets on. Any thread.
class Progress {
 public:
  void step(std::string doing);
  [[nodiscard]] std::string doing() const;
  [[nodiscard]] std::int64_t steps() const { return steps_.load(); }

 private:
  mutable std::mutex lock_;
  std::string doing_ = "starting";
  std::atomic<std::int64_t> steps_{0};
};

struct SweepEvents {
  std::function<void(const Head&)> head;  ///< process 0 only
  std::function<void(const Row&)> row;    ///< process 0 only
  std::function<void(int rank)> die;      ///< planted faults: this process is to die, or to stop
  std::function<void(int rank)> stop;
};

/// All processes call it with the same plan. Data error where they were not.
[[nodiscard]] Status run_sweep(const Plan& plan, Engine& engine, Bootstrap& bootstrap, Progress& progress,
                               const SweepEvents& events);

struct WorkerOptions {
  bool alone = false;          ///< one process with several GPUs, without MPI
  bool started_by_us = false;  ///< it ends when who started it does
  std::function<void(const std::string& kind, const Json& json)> notify;  ///< results: process 0 only. Any thread
  /// Of every process that is stuck, with "doing"; and once a second of process 0, with "alive". Any thread.
  std::function<void(const Json& state)> notify_state;
};

[[nodiscard]] Status run_worker(const Plan& plan, const WorkerOptions& options);

/// Rank and number of ranks where this process was started by mpirun or srun; pure but for the environment.
struct Placed {
  int rank = 0;
  int ranks = 1;
};
[[nodiscard]] std::optional<Placed> placed_by(const char* (*environment)(const char* name));

}  // namespace warpmark::collectives
