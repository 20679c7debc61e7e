// How throughput grows with the number of workers (GPUs or ranks): what was measured, how efficient each number is, the
// laws fitted to it and what they foretell. JSON: "warpmark.scaling/1".
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

struct ScalingPoint {
  int workers = 1;
  std::vector<double> throughput;  ///< of each run, in order, in units of work a second
  std::vector<double> seconds;     ///< of each run
  double median = 0;               ///< of the throughput
  Ranged speed_up;                 ///< against the fewest workers, times their number
  Ranged efficiency;               ///< ratio
  std::string grade;               ///< "excellent", "good", "moderate", "poor"
  std::string usual;               ///< how it stands to the usual band of so many GPUs; empty for other numbers
  std::optional<double> peak_memory_bytes;  ///< largest resident set of any process, median over runs
  std::optional<Ranged> energy_per_work_j;  ///< of what counts: GPUs, or processors
  std::optional<double> work_per_joule;
  std::vector<std::pair<std::string, double>> parts;  ///< named times the command tells, medians
  std::int64_t failures = 0;
  std::string reason;  ///< of the last failure
};

struct ScalingLawFit {
  std::string law;
  std::vector<std::pair<std::string, Ranged>> parameters;
  double residual = 0;  ///< ratio: standard deviation of a run about the law
  std::string reason;   ///< why it was not fitted
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
  std::string worker;         ///< "GPU", "rank"
  std::string mode;           ///< "strong", "weak"
  std::string unit;           ///< of the work: "samples", "runs"
  std::string energy_method;  ///< what was read, and its uncertainty; empty if nothing was
  std::uint64_t seed = 0;
  bool complete = false;
  std::vector<ScalingPoint> points;
  std::vector<ScalingLawFit> fits;
  std::vector<ScalingForecast> forecasts;
  std::optional<double> peak_workers;  ///< where the USL foretells the most throughput
  std::vector<std::string> causes;     ///< where efficiency is lost, as far as told
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const Scaling& scaling);

}  // namespace warpmark
