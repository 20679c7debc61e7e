// Parts of an optimization (optimization.h): what a technique gained in other programs, the goal of the user, and the
// cost of the whole training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/fields/names.h"

namespace warpmark {

enum class TrialOutcome {
  kept,      ///< proven faster, and as right as before: part of the plan
  rejected,  ///< its answers are not the same
  no_gain,   ///< and not slower
  slower,
  replaced,   ///< faster, and another value of it faster still
  failed,     ///< it did not run to its end, or was not in force
  undecided,  ///< the runs cannot tell
};
inline constexpr auto kTrialOutcomeNames =
    in_order(TrialOutcome::undecided, "kept", "rejected", "no_gain", "slower", "replaced", "failed", "undecided");
constexpr Names names_of(TrialOutcome) { return kTrialOutcomeNames; }
[[nodiscard]] std::string words_of(TrialOutcome outcome);  ///< for people: "no gain"

struct Optimization;
struct OptimizationState;

/// Gains are factors; above 1 is faster.
struct TechniquePrior {
  std::string bottleneck;
  std::int64_t programs = 0;
  double median = 1;
  double low = 1;
  double high = 1;
  std::optional<double> guide_low;
  std::optional<double> guide_high;
  std::string source;
};

struct OptimizationGoal {
  std::optional<double> speedup;
  std::optional<double> days;  ///< of the whole training
  std::optional<double> cost;  ///< of the whole training
  [[nodiscard]] bool given() const { return speedup || days || cost; }
};

/// The whole training.
struct TrainingCost {
  double days = 0;
  std::optional<double> cost;
};

/// Of `train_steps` steps; none where that or the time of a step is not known. `state` is one of the optimization's.
[[nodiscard]] std::optional<TrainingCost> training_cost(const Optimization& optimization,
                                                        const OptimizationState& state);

struct GoalVerdict {
  bool met = false;
  std::string text;
};
/// None where no goal was given.
[[nodiscard]] std::optional<GoalVerdict> judge_goal(const Optimization& optimization);

}  // namespace warpmark
