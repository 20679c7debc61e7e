// Starting a program on several ranks with what clusters have: Open MPI's mpirun, or srun within a Slurm job. No
// launcher of our own: ranks, hosts, binding and cleaning up are theirs.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collectives/calls/plan.h"
#include "collectives/results/row.h"

namespace warpmark::collectives {

struct LaunchOptions {
  int ranks = 1;
  std::string launcher = "auto";  ///< "mpirun", "srun", "auto", or "none": one process, without MPI
  std::string hosts;              ///< file of hosts for mpirun; empty: this one, or those of the job
  bool oversubscribe = false;     ///< more ranks than processors are meant
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> more;  ///< further words for the launcher
  double deadline_s = 3600;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const Head&)> on_head{};
  std::function<void(const Row&)> on_row{};
};

/// What decides how ranks are started; given, so that choosing is pure.
struct LaunchPlace {
  bool is_root = false;
  bool in_slurm_job = false;  ///< allocated, and this process is no step of it
  int cpus = 1;               ///< that this process may use
  int cores = 1;              ///< physical ones among them; 0 if unknown
  std::string mpirun;         ///< path, or empty
  std::string srun;
};
[[nodiscard]] LaunchPlace launch_place(const char* (*environment)(const char* name));

/// The launcher's words, before those of the program. Usage error for more ranks than processors; environment error
/// where no launcher is installed.
[[nodiscard]] Result<std::vector<std::string>> launcher_words(const LaunchOptions& options, const LaunchPlace& place);

/// How a launch ended, with everything its ranks told.
struct Outcome {
  Sweep sweep;
  std::vector<Stuck> stuck;
  bool interrupted = false;
  std::optional<Error> fault;  ///< what ended it before its end
};

/// Runs `program` (a warpmark executable) as ranks of the plan. The sweep as far as it came, also with a fault.
[[nodiscard]] Outcome launch_sweep(const Plan& plan, const LaunchOptions& options, const LaunchPlace& place,
                                   const std::string& program);

/// Which ranks are at fault when some wait and others report nothing. No I/O. `processes` of them in all.
[[nodiscard]] Error stuck_error(const std::vector<Stuck>& stuck, int processes, double timeout_s);

/// The sentence of what mpirun or srun says of a rank that died; empty if it says no such thing.
[[nodiscard]] std::string death_in(const std::string& text);

}  // namespace warpmark::collectives
