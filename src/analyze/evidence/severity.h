// How severe a loss is, and what severities mean (with kWarning and kCritical of the model).
#pragma once

#include <algorithm>

namespace warpmark::analyze {

inline constexpr double kWorthFixing = 0.1;  ///< five per cent of the step: less is a candidate, and named last
/// Whether it is a fault is the user's decision, or others know more of the same: half of a warning.
inline constexpr double kMostOfANote = 0.2;

/// Twice its share of the undisturbed step, at most 1. Both a step, ns.
[[nodiscard]] inline double severity_of(double lost_ns, double step_ns) {
  return step_ns > 0 ? std::clamp(2.0 * lost_ns / step_ns, 0.0, 1.0) : 0.0;
}

/// Amdahl's law: how much faster the whole gets without what is lost; a thousandth of it stays.
[[nodiscard]] inline double amdahl(double lost, double whole) {
  return std::max(1.0, whole / std::max(whole - lost, whole * 1e-3));
}

}  // namespace warpmark::analyze
