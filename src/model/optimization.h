// Optimization: the log and result of a search for what makes a program faster: settings tried, kept and left out, each
// with predicted and measured speedup. JSON: "warpmark.optimization/1" (docs/schema/optimization.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/machine.h"
#include "model/metric.h"
#include "model/optimization_parts.h"
#include "model/run.h"

namespace warpmark {

inline constexpr const char* kOptimizationSchema = "warpmark.optimization/1";

enum class TrialOutcome {
  kept,      ///< proven faster, and as right as before: part of the plan
  rejected,  ///< its answers are not the same
  no_gain,   ///< and not slower
  slower,
  failed,     ///< it did not run to its end, or was not in force
  undecided,  ///< the runs cannot tell
};
[[nodiscard]] const char* name_of(TrialOutcome outcome);
[[nodiscard]] std::string words_of(TrialOutcome outcome);  ///< for people: "no gain"

struct SpeedUp {
  double ratio = 1;  ///< above 1 is faster
  double low = 1;
  double high = 1;
  double confidence = 0.95;
};

/// The predicted speedup of a setting, and the method.
struct Prediction {
  double low = 1;
  double high = 1;
  std::string method;
};

/// Whether a candidate's answers were the same.
struct AnswerCheck {
  std::string kind;       ///< "losses", "outputs", "samples", "evaluation", "none"
  double difference = 0;  ///< the largest that was judged, as a ratio
  double allowed = 0;
  std::string text;  ///< a sentence with the numbers
};

/// A bottleneck that the analysis found in a recording of the program.
struct OptimizationFinding {
  std::string rule;   ///< "data_loading"
  std::string title;  ///< one line
  double severity = 0;
  double low = 1;  ///< replayed gain without it ...
  double high = 1;
  std::string advice;  ///< ... by this recommendation: its id; empty: by the first one
  std::string text;    ///< what to do
  std::string code;
  std::string where;  ///< FILE:LINE; may be empty
};

/// One setting that was tried on top of the best so far.
struct OptimizationStep {
  std::string knob;
  std::string value;
  std::string title;     ///< what it changes, a few words
  std::string numerics;  ///< "exact", "rounding", "random_streams", "precision", "semantic"
  TrialOutcome outcome = TrialOutcome::undecided;
  std::string reason;
  std::string kernels;  ///< of a recording with it: in which kernels it showed; may be empty
  bool asked = false;   ///< the user named the knob
  std::optional<Prediction> predicted;
  std::optional<TechniquePrior> prior;
  std::optional<SpeedUp> in_process;  ///< by blocks of steps in one process: selects, and does not prove
  std::optional<SpeedUp> measured;    ///< against the best without it, by fresh processes
  std::optional<SpeedUp> found;       ///< by the fresh processes that selected it
  std::optional<SpeedUp> cumulative;  ///< of this and all before it together
  AnswerCheck answers;
  std::optional<double> memory_bytes;        ///< most memory with it, of the GPU where there is one, and ...
  std::optional<double> memory_saved_bytes;  ///< ... how much less than before it
  double cost_s = 0;                         ///< time spent on it
  std::int64_t runs = 0;
  std::vector<double> times_before_s;  ///< raw samples, one a round: seconds a sample (or a step) without it ...
  std::vector<double> times_with_s;    ///< ... and with it
};

/// What cannot be put on from outside: for a person to do.
struct OptimizationAdvice {
  std::string where;  ///< FILE:LINE; may be empty
  std::string text;
  std::string code;
  std::optional<Prediction> predicted;  ///< not proven
};

struct OptimizationState {
  double seconds_per_step = 0;
  std::optional<double> samples_per_s;
  double spread = 0;  ///< of repeated runs: standard deviation of the logarithm
  std::int64_t steps = 0;
  double start_s = 0;  ///< from the import of torch to the first measured step
  std::optional<double> memory_bytes;
  std::optional<double> gpu_utilization;               ///< in the measured window: ratio, mean over the GPUs used ...
  std::optional<double> joules_per_step;               ///< ... and their energy together
  std::vector<std::pair<std::string, double>> phases;  ///< shares of a step: data, forward, backward, optimizer, rest
};

struct Optimization {
  std::string id;
  std::string started;  ///< UTC
  std::string command;
  std::string program;        ///< the command that was optimized
  std::string unit = "step";  ///< what times are of: "sample", "step" or "run"
  std::string torch;
  std::string device;
  std::int64_t ranks = 1;  ///< processes that train together
  OptimizationState baseline;
  std::optional<OptimizationState> optimized;
  std::vector<OptimizationStep> steps;  ///< in the order tried
  std::vector<std::string> decisions;   ///< the log: each decision with its reason
  std::vector<OptimizationAdvice> advice;
  std::vector<OptimizationFinding> findings;              ///< of the original, worst first
  std::vector<std::pair<std::string, std::string>> plan;  ///< the kept settings
  std::optional<SpeedUp> measured_speedup;                ///< of the final plan against the original, in fresh runs
  std::optional<SpeedUp> likely_speedup;                  ///< of a plan that is not proven: in one process
  std::vector<double> times_original_s;                   ///< raw samples of the proof
  std::vector<double> times_optimized_s;
  std::optional<double> interaction;  ///< measured over the product of the single confirmations
  double spent_s = 0;
  std::int64_t runs = 0;
  std::optional<double> price_per_hour;
  std::optional<double> train_steps;  ///< of the whole training
  OptimizationGoal goal;
  std::string stopped_because;
  std::string unreliable;  ///< why the last test is not believed; empty: it is
  bool complete = false;
  std::string verdict;  ///< one sentence
  Machine machine;
  Build build;
};

/// With a summary for programs next to the steps: optimizations_applied, measured_speedup, memory_saved, new_config.
/// Written only.
[[nodiscard]] Json to_json(const Optimization& optimization);

}  // namespace warpmark
