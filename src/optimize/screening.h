// Screening within one process: knobs that can be put on and taken off between two steps run in blocks of steps in
// random order, beside blocks without a knob. It costs one start of the program for all of them, and may only discard:
// what it lets pass is tried in processes of its own. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "optimize/search.h"
#include "workers/hooked_program.h"

namespace warpmark::optimize {

struct ScreeningLimits {
  double step_s = 0;            ///< of the program as it is, about
  double most_s = 0;            ///< that all blocks together may take: above it there is no screening
  double left_s = 0;            ///< of the budget, without the start of the program
  double wanted_s = 0;          ///< fewer rounds where this is less, but enough to judge by
  std::int64_t most_steps = 0;  ///< that the program makes after the warm-up; 0: not known
  bool several_ranks = false;   ///< that must end at the same step
};

/// How many rounds of how long blocks for so many knobs, so that gains of a per cent can be told where blocks agree.
/// None where the limits leave too few rounds to judge by.
[[nodiscard]] std::optional<workers::ScreeningPlan> plan_screening(std::vector<Setting> settings,
                                                                   const ScreeningLimits& limits, std::uint64_t seed);

/// How long all blocks of the plan take, in seconds, where no knob makes steps slower.
[[nodiscard]] double planned_s(const workers::ScreeningPlan& plan, double step_s);

/// What the blocks say of each switched knob, in the order of the plan. A knob is discarded where even the upper end of
/// its 95 % interval is below `effect`; none is where the two arms without a knob differ by more than their noise.
/// `failed`: the program did, on the arm that was switched last; of several ranks nothing is judged then.
[[nodiscard]] std::vector<Screened> judge_screening(const workers::ScreeningPlan& plan,
                                                    const workers::ProgramReport& report, double effect, bool failed);

}  // namespace warpmark::optimize
