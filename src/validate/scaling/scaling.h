// What measured throughputs at several numbers of workers say: efficiency with its interval and grade, the laws of
// scaling, forecasts, and where the loss comes from as far as the command tells its parts. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/run.h"
#include "model/scaling.h"

namespace warpmark::validate {

/// One run of the command that ended well.
struct ScalingRun {
  int workers = 1;
  int round = 0;
  double seconds = 0;
  double work = 1;                   ///< units done in it
  std::optional<double> throughput;  ///< as the command tells it; else work / seconds
  double peak_memory_bytes = 0;
  std::optional<double> gpu_memory_bytes;  ///< peak, of the GPU that was filled most
  std::optional<double> gpu_utilization;   ///< ratio, mean over the GPUs used
  std::optional<double> joules;
  std::vector<std::pair<std::string, double>> parts;  ///< "loading", "communication", "step": s; "utilization": ratio
};

/// What a recorded run with so many workers says, or why there is nothing.
struct ProfiledRun {
  int workers = 1;
  std::optional<StepShares> shares;
  std::string problem;
};

/// Points, fits, forecasts up to 1024 workers and causes of a Scaling whose mode is set ("strong" or "weak").
void judge_scaling(const std::vector<ScalingRun>& runs, Scaling& scaling,
                   const std::vector<ProfiledRun>& profiles = {});

/// Where 1 - efficiency went. A worker's time for a unit of work is 1 / efficiency of what it is with the fewest
/// workers, of which each cause has its share of the step; the difference, as a ratio of the time with the many, is
/// `share - efficiency * share with the fewest`. So steps of different sizes compare, and the parts sum exactly.
[[nodiscard]] EfficiencyLoss efficiency_loss(const StepShares& fewest, const StepShares& many, double efficiency);

/// Above 0.9 excellent, from 0.7 good, from 0.5 moderate, else poor.
[[nodiscard]] const char* efficiency_grade(double efficiency);

/// Of the whole interval: "moderate to good" where it spans several.
[[nodiscard]] std::string grade_of(const Ranged& efficiency);

/// The usual band of data-parallel training: 2 GPUs 90-97 %, 4 87-95 %, 8 85-92 %; nothing for other numbers.
[[nodiscard]] std::optional<std::pair<double, double>> usual_efficiency(int workers);

/// Rounds of worker counts, each in another random order, so that drift meets all alike.
[[nodiscard]] std::vector<std::vector<int>> scaling_order(const std::vector<int>& workers, int rounds,
                                                          std::uint64_t seed);

/// Nothing where the session has not two numbers of workers that `scale` measured. Pure.
[[nodiscard]] std::optional<Scaling> scaling_of(const Session& session);

/// One run under a cap.
struct CappedRun {
  double cap_w = 0;
  ScalingRun run;
};

/// Points and verdict. Points that caps have already keep their failures.
void judge_power_caps(const std::vector<CappedRun>& runs, PowerCaps& caps);

}  // namespace warpmark::validate
