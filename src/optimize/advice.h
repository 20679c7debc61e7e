// What a person would write into the program: the lines of the kept knobs at the places where the program makes its
// loader, its optimizer and its model; and what cannot be put on from outside. Pure.
#pragma once

#include <vector>

#include "model/optimization.h"
#include "optimize/facts.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// `kept` first, each with what was measured; then what nobody has proven. `facts` are those of the original.
[[nodiscard]] std::vector<OptimizationAdvice> advice_for(const ProgramFacts& facts, const Settings& kept);

}  // namespace warpmark::optimize
