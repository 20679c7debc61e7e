// What a person reads of a bisection: the commit, how much it changed and how certain that is, and what was asked.
#pragma once

#include "model/bisection.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Bisection& bisection);

}  // namespace warpmark::report
