// Turns trial results into the states and speedups of a journey. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/journey.h"
#include "optimize/search.h"

namespace warpmark::optimize {

/// Of independent tests; `a` may be none.
[[nodiscard]] SpeedUp product(const std::optional<SpeedUp>& a, const SpeedUp& b);

/// Turns the result of pairs of fresh processes into the outcome of a step.
void judge_trial(const TrialResult& result, JourneyStep& step);

/// Shares of a step by their names.
[[nodiscard]] std::vector<std::pair<std::string, double>> phases_of(const ProgramFacts& facts);

/// The program under the final settings, by the test that proved them.
[[nodiscard]] JourneyState optimized_state(const JourneyState& baseline, const TrialResult& result);

}  // namespace warpmark::optimize
