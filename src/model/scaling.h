// How throughput grows with the number of workers (GPUs or ranks): what was measured, how efficient each number is, the
// laws fitted to it and what they predict. JSON: "warpmark.scaling/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/machine.h"
#include "model/metric.h"

namespace warpmark {

inline constexpr const char* kScalingSchema = "warpmark.scaling/1";

/// A quantity with what is known of its uncertainty.
struct Ranged {
  double value = 0;
  std::optional<Interval> interval;
};

/// Where a recorded step goes: means over ranks, without the estimated cost of recording. The first five sum to it.
struct StepShares {
  double step_s = 0;
  double communication_s = 0;            ///< that nothing hides, and waiting for ranks that have no more work
  double imbalance_s = 0;                ///< waiting for ranks that have more work
  double loading_s = 0;                  ///< the GPU idle while batches are awaited
  double host_s = 0;                     ///< the GPU idle for its host: dispatching, waits, allocations, copies
  double rest_s = 0;                     ///< kernels, exposed copies, and what is not explained
  double compute_s = 0;                  ///< of the rest: kernels
  double utilization = 0;                ///< ratio: anything runs on the GPU, collectives included
  std::optional<double> loading_host_s;  ///< the host's wait for a batch; nothing where none was recorded
  int ranks = 0;
  int late_rank = -1;  ///< that the others wait for; -1 if none
};

/// Of the efficiency that is lost, the ratio that each cause takes. Negative: it takes less than with the fewest.
struct EfficiencyLoss {
  double communication = 0;
  double imbalance = 0;
  double loading = 0;
  double host = 0;
  double rest = 0;
};

struct ScalingPoint {
  int workers = 1;
  std::vector<double> throughput;  ///< of each run, in order, in units of work a second
  std::vector<double> seconds;     ///< of each run
  std::vector<double> joules;      ///< of each run; empty unless all were measured
  double median = 0;               ///< of the throughput
  Ranged speed_up;                 ///< against the fewest workers, times their number
  Ranged efficiency;               ///< ratio
  std::string grade;               ///< "excellent", "good", "moderate", "poor", or those that the interval spans
  std::string usual;               ///< how it stands to the usual band of so many GPUs; empty for other numbers
  std::optional<double> peak_memory_bytes;  ///< largest resident set of any process, median over runs
  std::optional<double> gpu_memory_bytes;   ///< peak of the GPU that was filled most, median over runs
  std::optional<double> gpu_utilization;    ///< ratio, mean over the GPUs used, median over runs
  std::optional<Ranged> energy_per_work_j;  ///< of what counts: GPUs, or processors
  std::optional<double> work_per_joule;
  std::vector<std::pair<std::string, double>> parts;  ///< named times the command tells, medians
  std::optional<StepShares> profile;                  ///< of a recorded run
  std::string profile_problem;                        ///< why there is none, where one was asked for
  std::optional<EfficiencyLoss> loss;                 ///< sums to 1 - efficiency
  std::int64_t failures = 0;
  std::string reason;  ///< of the last failure
};

struct ScalingLawFit {
  std::string law;
  std::vector<std::pair<std::string, Ranged>> parameters;
  double residual = 0;                        ///< ratio: standard deviation of a run about the law
  std::vector<std::pair<int, double>> off{};  ///< by workers: how far their mean is from the law, ratio
  std::optional<double> aicc{};               ///< above that of the law that describes best
  bool chosen = false;                        ///< forecasts are its own
  std::string reason;                         ///< why it was not fitted, or does not hold
};

struct ScalingForecast {
  int workers = 0;
  std::string law;
  Ranged speed_up;
  double efficiency = 0;
};

struct Scaling {
  std::string id;
  std::string started;  ///< UTC
  std::string command;
  std::string worker;                                   ///< "GPU", "rank"
  [[nodiscard]] std::string workers(int count) const {  ///< "1 GPU", "8 GPUs"
    return std::to_string(count) + " " + worker + (count == 1 ? "" : "s");
  }
  std::string mode;           ///< "strong", "weak"
  std::string unit;           ///< of the work: "samples", "runs"
  std::string energy_method;  ///< what was read, and its uncertainty; empty if nothing was
  std::uint64_t seed = 0;
  bool complete = false;
  std::vector<ScalingPoint> points;
  std::vector<ScalingLawFit> fits;
  std::vector<ScalingForecast> forecasts;
  std::string no_forecast;  ///< why there are no forecasts; empty where there are
  std::optional<double>
      peak_workers;                 ///< with which the chosen USL predicts the most throughput, near what was measured
  std::vector<std::string> causes;  ///< where efficiency is lost, as far as told
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const Ranged& ranged);
[[nodiscard]] Json to_json(const Scaling& scaling);

}  // namespace warpmark
