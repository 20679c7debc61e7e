// What a journey says of states and speed-ups, from what trials said. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/journey.h"
#include "optimize/search.h"

namespace warpmark::optimize {

/// "1.25x (1.2 to 1.3)".
[[nodiscard]] std::string interval_text(const SpeedUp& speedup);

/// Of independent tests; `a` may be none.
[[nodiscard]] SpeedUp product(const std::optional<SpeedUp>& a, const SpeedUp& b);

/// What a trial on top of the best makes of its step: `tested` by A/B, else by the run that may only discard.
void judge_trial(const TrialResult& result, bool tested, JourneyStep& step);

/// One of a plan that is proven as a whole.
[[nodiscard]] JourneyStep planned_step(const Setting& setting, Numerics numerics);

/// In which kernels of a recording each knob showed, into the steps of the kept ones (knob, index of its step), and as
/// sentences: what was read back may still be without effect, and the recording is a second witness.
[[nodiscard]] std::vector<std::string> put_kernels(const std::vector<std::pair<std::string, std::string>>& seen,
                                                   const std::vector<std::pair<std::string, std::size_t>>& kept,
                                                   std::vector<JourneyStep>& steps);

/// Shares of a step by their names.
[[nodiscard]] std::vector<std::pair<std::string, double>> phases_of(const ProgramFacts& facts);

/// The program under the final settings, by their last test, which told a speed-up.
[[nodiscard]] JourneyState optimized_state(const JourneyState& baseline, const TrialResult& result);

}  // namespace warpmark::optimize
