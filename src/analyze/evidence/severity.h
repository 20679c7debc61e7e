// How severe a loss is.
#pragma once

#include <algorithm>

namespace warpmark::analyze {

/// Twice its share of the undisturbed step, at most 1. Both a step, ns.
[[nodiscard]] inline double severity_of(double lost_ns, double step_ns) {
  return step_ns > 0 ? std::clamp(2.0 * lost_ns / step_ns, 0.0, 1.0) : 0.0;
}

}  // namespace warpmark::analyze
