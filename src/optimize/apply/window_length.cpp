#include "optimize/apply/window_length.h"

#include <algorithm>
#include <cmath>

#include "stats/summary.h"

namespace warpmark::optimize {
namespace {

constexpr double kPart = 4;
constexpr double kMostLikeTheLast = 0.9;

/// Of the mean of n values, over that of independent ones: (1 + r) / (1 - r) where each resembles the one before by r,
/// an autoregression of the first order (Law, Simulation Modeling and Analysis, 5th edition, section 4.4).
double inflation(const Summary& summary) {
  const double r = std::clamp(summary.autocorrelation.value_or(0), 0.0, kMostLikeTheLast);
  return (1 + r) / (1 - r);
}

}  // namespace

WindowLength window_length(std::span<const double> step_s, double effect, double least_s, double most_s) {
  const auto summary = stats::summarize(step_s);
  const double step = std::max(summary.mean, 1e-6);
  const double variance = inflation(summary) * std::pow(summary.stdev / step, 2);
  const auto clamped = [&](double steps) {
    const double least = std::max<double>(kFewestTimedSteps, std::ceil(least_s / step));
    return std::clamp(steps, least, std::max(least, std::ceil(most_s / step)));
  };
  const double steps = clamped(std::ceil(variance / std::pow(effect / kPart, 2)));
  return {.steps = static_cast<std::int64_t>(steps), .error = std::sqrt(variance / steps)};
}

}  // namespace warpmark::optimize
