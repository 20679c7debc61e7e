// Runs a command with several numbers of workers, in rounds of random order, and reads what each run did.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/start/launch.h"
#include "validate/commands/command_spec.h"
#include "validate/scaling/scaling.h"

namespace warpmark::apps {

struct ScaleRequest {
  std::vector<int> workers;
  bool ranks = false;   ///< MPI ranks that are started here; else GPUs that the command takes
  bool remote = false;  ///< GPUs of other machines, which the command finds itself
  std::string mode = "strong";
  std::string unit = "runs";
  double work = 1;                                 ///< units a run does; in weak mode those of one worker
  std::optional<validate::MetricSpec> throughput;  ///< read from the output
  std::vector<validate::MetricSpec> parts;         ///< "loading", "communication", "step", "utilization"
  int rounds = 5;
  int warmup_runs = 1;
  double budget_s = 0;
  double timeout_s = 600;
  std::uint64_t seed = 1;
  bool energy = true;
  std::vector<std::string> words;
  collectives::LaunchOptions launch;
};

/// A word with {gpus}, {ranks}, {n} and {workers} replaced by the number, {gpu_ids} by 0,1,...
[[nodiscard]] std::string fill_workers(std::string word, int workers);

/// The words, filled so; started by mpirun or srun where ranks are meant.
[[nodiscard]] Result<std::vector<std::string>> words_for(const ScaleRequest& request, int workers,
                                                         const collectives::LaunchPlace& place);

/// Usage error where this machine shows fewer GPUs than --gpus asks for.
[[nodiscard]] Status check_gpus(const ScaleRequest& request);

/// CUDA_VISIBLE_DEVICES of so many: the first of those that it names already, or the first of all.
[[nodiscard]] std::string first_gpus(int count);

/// One run with so many workers, with its energy; `round` is left to the caller. Data error where it fails.
[[nodiscard]] Result<validate::ScalingRun> run_scaled_once(const ScaleRequest& request, int workers,
                                                           const std::atomic<bool>& interrupted);
/// How energy is read, or why it is not.
[[nodiscard]] std::string energy_method_of(const ScaleRequest& request);

struct ScaleRuns {
  std::vector<validate::ScalingRun> runs;
  std::vector<ScalingPoint> failures;  ///< by workers: how many runs failed, and why
  std::string energy_method;
  bool complete = false;
};

/// Of a run that begins: how many were before it, of how many at most, and what it is.
using ScaleProgress = std::function<void(std::int64_t done, std::int64_t of, const std::string& what)>;

/// Usage or data error where nothing could be run at all.
[[nodiscard]] Result<ScaleRuns> run_scaling(const ScaleRequest& request, const collectives::LaunchPlace& place,
                                            const std::atomic<bool>& interrupted, const ScaleProgress& progress);

}  // namespace warpmark::apps
