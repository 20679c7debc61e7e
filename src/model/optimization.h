// Optimization: the log and result of a search for what makes a program faster: settings tried, kept and left out, each
// with predicted and measured speedup. JSON: "warpmark.optimization/1" (docs/schema/optimization.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/fields/names.h"
#include "model/machine.h"
#include "model/metric.h"
#include "model/optimization_parts.h"
#include "model/run.h"

namespace warpmark {

inline constexpr const char* kOptimizationSchema = "warpmark.optimization/1";

struct SpeedUp {
  double ratio = 1;  ///< above 1 is faster
  double low = 1;
  double high = 1;
  double confidence = 0.95;
};

/// The predicted speedup of a setting, and the method.
struct Prediction {
  double low = 1, high = 1;
  std::string method;
};

/// Whether a candidate's answers were the same.
struct AnswerCheck {
  std::string kind;
  double difference = 0;
  double allowed = 0;
  std::string text;
};

/// A bottleneck that the analysis found in a recording of the program.
struct OptimizationFinding {
  std::string rule;  ///< "data_loading"
  std::string title;
  double severity = 0;
  double low = 1, high = 1;  ///< replayed gain without it ...
  std::string advice;        ///< ... by this recommendation: its id; empty: by the first one
  std::string text, code;    ///< what to do
  std::string where;         ///< FILE:LINE; may be empty
  [[nodiscard]] bool is_gain_known() const { return high > 1; }
};

/// One setting that was tried on top of the best so far.
struct OptimizationStep {
  std::string knob;
  std::string value;
  std::string title;
  std::string numerics;  ///< "exact", "rounding", "random_streams", "precision", "semantic"
  TrialOutcome outcome = TrialOutcome::undecided;
  std::string reason;
  std::string kernels;  ///< of a recording with it: in which kernels it showed; may be empty
  bool asked = false;
  std::optional<Prediction> predicted;
  std::optional<TechniquePrior> prior;
  std::optional<SpeedUp> in_process;
  std::optional<SpeedUp> measured;  ///< against the best without it, by fresh processes
  std::optional<SpeedUp> found;
  std::optional<SpeedUp> cumulative;
  AnswerCheck answers;
  std::optional<double> memory_bytes;
  std::optional<double> memory_saved_bytes;
  double cost_s = 0;  ///< time spent on it
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
  double spread = 0;
  std::int64_t steps = 0;
  double start_s = 0;
  std::optional<double> memory_bytes;
  std::optional<double> gpu_utilization;
  std::optional<double> evaluation_share;              ///< of the time of the run, in which steps are not counted
  std::optional<double> joules_per_step;               ///< ... and their energy together
  std::vector<std::pair<std::string, double>> phases;  ///< shares of a step: data, forward, backward, optimizer, rest
};

struct Optimization {
  std::string id;
  std::string started;
  std::string command;
  std::string program;
  std::string unit = "step";  ///< what times are of: "sample", "step" or "run"
  std::string torch;
  std::string device;
  std::int64_t ranks = 1;
  OptimizationState baseline;
  std::optional<OptimizationState> optimized;
  std::vector<OptimizationStep> steps;
  std::vector<std::string> decisions;
  std::vector<OptimizationAdvice> advice;
  std::vector<OptimizationFinding> findings;
  std::optional<double> recorded_seconds_per_step;        ///< of the original while they were found, with that cost
  std::vector<std::pair<std::string, std::string>> plan;  ///< the kept settings
  std::optional<SpeedUp> measured_speedup;
  std::optional<SpeedUp> likely_speedup;
  std::vector<double> times_original_s, times_optimized_s;  ///< raw samples of the proof
  std::optional<double> interaction;
  double spent_s = 0;
  std::int64_t runs = 0;
  std::optional<double> price_per_hour;
  std::optional<double> train_steps;  ///< of the whole training
  OptimizationGoal goal;
  std::string stopped_because;
  std::string unreliable;
  bool complete = false;
  std::string verdict;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const Optimization& optimization);

}  // namespace warpmark
