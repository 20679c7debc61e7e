// Turns trial results into the states and speedups of an optimization. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/optimization.h"
#include "optimize/search.h"

namespace warpmark::optimize {

/// Of independent tests; `a` may be none.
[[nodiscard]] SpeedUp product(const std::optional<SpeedUp>& a, const SpeedUp& b);

/// In one process: it ran and gave the same answers.
[[nodiscard]] bool is_unharmed(const VariantResult& result);
/// What became of a setting that is not adopted, and why.
[[nodiscard]] TrialOutcome outcome_in_process(const VariantResult& result, double effect);
[[nodiscard]] std::string why_not(const VariantResult& result);

/// Turns the result of pairs of fresh processes into the outcome of a step.
void judge_trial(const TrialResult& result, OptimizationStep& step);

/// Shares of a step by their names.
[[nodiscard]] std::vector<std::pair<std::string, double>> phases_of(const ProgramFacts& facts);

/// The program under the final settings, by the test that proved them.
[[nodiscard]] OptimizationState optimized_state(const OptimizationState& baseline, const TrialResult& result);

}  // namespace warpmark::optimize
