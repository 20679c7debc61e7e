// What a log says of one training, and how it departs from the rules of a round of MLPerf training (rulesets.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/mllog/convergence.h"

namespace warpmark::exchange {

struct MlLogFault {
  std::int64_t line = 0;  ///< 0: something is missing
  std::string what;
};

/// What one log says of its training.
struct MlLogTraining {
  std::string benchmark;
  std::string division;
  double batch = 0;                   ///< global_batch_size; 0 if there is none
  std::optional<double> seconds;      ///< from run_start to run_stop
  bool converged = false;             ///< run_stop says success
  std::optional<double> quality;      ///< the last eval_accuracy before run_stop
  std::optional<double> to_converge;  ///< epochs or samples at that evaluation
  bool in_samples = false;            ///< `to_converge` is samples
  std::vector<MlLogFault> faults;
};

/// By the rules of a round ("5.1"), or by those that all rounds share (""). Pure.
[[nodiscard]] MlLogTraining judge_mllog(std::span<const MlLogEvent> events, std::string_view round);

}  // namespace warpmark::exchange
