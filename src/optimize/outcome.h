// What a journey came to: its plan, and the exit code. Pure.
#pragma once

#include "model/journey.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// The kept settings of a journey.
[[nodiscard]] Settings plan_of(const Journey& journey);

/// 0: something was gained, or nothing is to be gained; 1: a knob that the user named did not hold; 3: undecided; 4: a
/// knob that the user named changes the answers.
[[nodiscard]] int outcome_code(const Journey& journey);

}  // namespace warpmark::optimize
