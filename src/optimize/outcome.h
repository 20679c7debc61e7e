// What an optimization came to: its plan, and the exit code. Pure.
#pragma once

#include "model/optimization.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// The kept settings of an optimization.
[[nodiscard]] Settings plan_of(const Optimization& optimization);

/// 0: something was gained, or nothing is to be gained; 1: a knob that the user named did not hold; 3: undecided; 4: a
/// knob that the user named changes the answers.
[[nodiscard]] int outcome_code(const Optimization& optimization);

}  // namespace warpmark::optimize
