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
  double communication_s = 0;
  double imbalance_s = 0;
  double loading_s = 0;
  double host_s = 0;
  double rest_s = 0;
  double compute_s = 0;
  double utilization = 0;
  std::optional<double> loading_host_s;  ///< the host's wait for a batch; nothing where none was recorded
  int ranks = 0;
  int late_rank = -1;
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
  std::vector<double> throughput;
  std::vector<double> seconds;
  std::vector<double> joules;  ///< of each run; empty unless all were measured
  double median = 0;
  Ranged speed_up;
  Ranged efficiency;
  std::string grade;
  std::string usual;
  std::optional<double> peak_memory_bytes;
  std::optional<double> gpu_memory_bytes;
  std::optional<double> gpu_utilization;
  std::optional<Ranged> energy_per_work_j;
  std::optional<double> work_per_joule;
  std::vector<std::pair<std::string, double>> parts;  ///< named times the command tells, medians
  std::optional<StepShares> profile;                  ///< of a recorded run
  std::string profile_problem;
  std::optional<EfficiencyLoss> loss;  ///< sums to 1 - efficiency
  std::int64_t failures = 0;
  std::string reason;
};

struct ScalingLawFit {
  std::string law;
  std::vector<std::pair<std::string, Ranged>> parameters;
  double residual = 0;
  std::vector<std::pair<int, double>> off{};  ///< by workers: how far their mean is from the law, ratio
  std::optional<double> aicc{};
  bool chosen = false;
  std::string reason;
};

struct ScalingForecast {
  int workers = 0;
  std::string law;
  Ranged speed_up;
  double efficiency = 0;
};

struct Scaling {
  std::string id;
  std::string started;
  std::string command;
  std::string worker;                                   ///< "GPU", "rank"
  [[nodiscard]] std::string workers(int count) const {  ///< "1 GPU", "8 GPUs"
    return std::to_string(count) + " " + worker + (count == 1 ? "" : "s");
  }
  std::string mode;  ///< "strong", "weak"
  std::string unit;
  std::string energy_method;
  std::uint64_t seed = 0;
  bool complete = false;
  std::vector<ScalingPoint> points;
  std::vector<ScalingLawFit> fits;
  std::vector<ScalingForecast> forecasts;
  std::string no_forecast;
  std::optional<double> peak_workers;
  std::vector<std::string> causes;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const Ranged& ranged);
[[nodiscard]] Json to_json(const Scaling& scaling);

inline constexpr const char* kPowerCapsSchema = "warpmark.power_caps/1";

struct PowerCapPoint {
  double cap_w = 0;
  std::vector<double> throughput;
  std::vector<double> energy_per_work;
  Ranged speed;
  std::optional<Ranged> energy;
  std::optional<double> work_per_joule;
  std::int64_t failures = 0;
  std::string reason;
};

struct PowerCaps {
  std::string id;
  std::string started;
  std::string command;
  std::string unit;
  int gpus = 1;
  double found_w = 0;
  double default_w = 0;
  bool restored = false;
  bool complete = false;
  std::string energy_method;
  std::vector<PowerCapPoint> points;
  std::optional<double> most_efficient;
  std::string verdict;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const PowerCaps& caps);

}  // namespace warpmark
