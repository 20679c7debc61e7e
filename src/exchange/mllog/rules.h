// What MLPerf's rules ask of the log of one training, and what the log says of it.
//
// Source: mlcommons/logging, compliance_checker/training_5.1.0/common.yaml and closed_common.yaml; numbers of runs and
// targets from mlcommons/training_policies, training_rules.adoc (v6.0), which the closed_*.yaml of training_5.1.0 and
// training_6.0.0 repeat; names that were given up, as training_4.0.0 and training_5.0.0 have them. What they ask of
// hyperparameters of one benchmark is checked as far as all have it in common (batch, optimizer, learning rate, seed).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/mllog/log.h"

namespace warpmark::exchange {

/// A benchmark of MLPerf's training.
struct MlPerfBenchmark {
  const char* id;
  int runs;       ///< of one result; 0: not known here
  int dropped;    ///< fastest and slowest that do not count
  double target;  ///< of eval_accuracy; 0: there are several, which are not judged here
  bool higher;    ///< whether more is better; then it is a ratio, at most 1
};

/// Null for names that are none of them.
[[nodiscard]] const MlPerfBenchmark* mlperf_benchmark(const std::string& id);

struct MlLogFault {
  std::int64_t line = 0;  ///< 0: something is missing
  std::string what;
};

/// What one log says of its training.
struct MlLogTraining {
  std::string benchmark;
  std::string division;
  double batch = 0;                   ///< global_batch_size; 0 if none is told
  std::optional<double> seconds;      ///< from run_start to run_stop
  bool converged = false;             ///< run_stop says success
  std::optional<double> quality;      ///< the last eval_accuracy
  std::optional<double> to_converge;  ///< epochs or samples at that evaluation
  bool in_samples = false;            ///< `to_converge` is samples
  std::vector<MlLogFault> faults;
};

/// Pure.
[[nodiscard]] MlLogTraining judge_mllog(std::span<const MlLogEvent> events);

}  // namespace warpmark::exchange
