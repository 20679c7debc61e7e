#include "analyze/cures/gain.h"

#include <algorithm>
#include <cmath>

namespace warpmark::analyze {

namespace {

constexpr double kLeastGain = 0.93;    // run-to-run noise of a step; the least of 167 pairs is 0.948
constexpr double kLeastSpread = 0.08;  // of the logarithm: noise of both measurements

}  // namespace

Gain gain_around(double foretold, const Calibration& calibration, std::string method) {
  const double middle = std::log(std::max(foretold, 1.0)) + calibration.bias;
  const double grown = std::clamp(calibration.small + middle, calibration.small, 1.0);
  const double spread = std::max(kLeastSpread, calibration.spread * grown);
  return shaped(std::exp(middle - spread), std::exp(middle + spread), std::move(method));
}

Gain shaped(double low, double high, std::string method) {
  low = std::max(low, kLeastGain);
  high = std::max(high, low);
  if (high / low > kWidestGain) {
    const double middle = std::sqrt(low * high);
    low = middle / std::sqrt(kWidestGain);
    high = middle * std::sqrt(kWidestGain);
  }
  return {low, high, std::move(method)};
}

}  // namespace warpmark::analyze
