// Random numbers of the laws that traffic follows, from the reproducible generator of stats/: the same seed gives the
// same traffic on every machine. Normal by the inverse of its distribution; gamma by Marsaglia and Tsang, ACM Trans.
// Math. Softw. 26, 2000. Pure.
#pragma once

#include <cmath>

#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::serving {

/// In [0, 1).
[[nodiscard]] inline double draw_unit(stats::Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
/// In (0, 1).
[[nodiscard]] inline double draw_open_unit(stats::Random& random) { return draw_unit(random) + 0x1p-54; }

[[nodiscard]] inline double draw_normal(stats::Random& random) {
  return stats::normal_quantile(draw_open_unit(random));
}

/// Mean 1.
[[nodiscard]] inline double draw_exponential(stats::Random& random) { return -std::log(draw_open_unit(random)); }

/// Of the lognormal law with this mean and standard deviation (of the values, not of their logarithms).
[[nodiscard]] inline double draw_lognormal(stats::Random& random, double mean, double stdev) {
  const double variance = std::log1p(stdev * stdev / (mean * mean));
  return std::exp(std::log(mean) - variance / 2 + std::sqrt(variance) * draw_normal(random));
}

/// Gamma of this shape (above 0) and scale 1.
[[nodiscard]] inline double draw_gamma(stats::Random& random, double shape) {
  if (shape < 1) return draw_gamma(random, shape + 1) * std::pow(draw_open_unit(random), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draw_normal(random), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(draw_open_unit(random)) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace warpmark::serving
