// What several logs make together: the result of one benchmark, as MLPerf's result_summarizer.py scores it.
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

struct MlLog {
  std::string file;
  std::vector<MlLogEvent> events;
  MlLogTraining training{};
  std::string unreadable{};  ///< why there are no events
};

struct MlLogResult {
  std::vector<MlLog> logs;
  std::string round;  ///< whose rules they are held to; empty for a benchmark of none, which only the common ones bind
  int runs = 0;       ///< that a result needs; 0: unknown
  int dropped = 1;    ///< fastest and slowest runs that do not count; as many may break the rules
  int rejected = 0;   ///< logs that break the rules
  std::optional<double> score_s;  ///< time to train
  std::optional<Convergence> convergence;
  std::vector<std::string> faults;                   ///< of the result as a whole
  [[nodiscard]] const MlLogTraining& first() const;  ///< that can be read; all logs of a result are of one benchmark
  [[nodiscard]] bool ok() const { return faults.empty() && (!convergence || convergence->accepted); }
};

/// Judges the logs and scores them. Without a round, that of the newest rules that most of the logs follow. `runs`
/// makes a result; without it as many as the benchmark asks. Usage error for a round that is not known.
[[nodiscard]] Result<MlLogResult> judge_result(std::vector<MlLog> logs, const std::string& round,
                                               std::optional<int> runs);

/// Epochs or samples that each log needed; infinite where it did not converge.
[[nodiscard]] std::vector<double> needed_to_converge(const MlLogResult& result);

/// The best of its round, accelerator and number of accelerators in the closed division.
struct PublishedResult {
  std::string_view round;  ///< "5.1"
  std::string_view benchmark;
  std::string_view accelerator;
  int accelerators = 0;
  double minutes = 0;
  std::string_view submitter;
};

/// Of the newest round that has the benchmark, by accelerator and number; empty where none has.
[[nodiscard]] std::vector<PublishedResult> published_results(std::string_view benchmark);

}  // namespace warpmark::exchange
