// What techniques gained in other programs, beside what they gained in this one. Pure.
#pragma once

#include <optional>
#include <span>

#include "model/optimization.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// The table: gains of fixing one bottleneck by hand, of the corpus' programs in which that was measured
/// (docs/results/analysis-2026-11-21.csv: median and quartiles, one value a program), and the ranges that guides give.
[[nodiscard]] std::span<const TechniquePrior> priors();

/// By the bottleneck that the knob answers first; none where nothing was measured, and for knobs of the user.
[[nodiscard]] std::optional<TechniquePrior> prior_of(std::string_view knob);

}  // namespace warpmark::optimize
