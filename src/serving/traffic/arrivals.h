// When requests are due. Open loop: at times that do not ask how the server does, made before the run, absolute, so
// that no lateness adds up. Closed loop: as soon as an earlier request of the same user has ended. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::serving {

inline constexpr double kMostRate = 1e6;  ///< requests/s

enum class ArrivalKind {
  closed,    ///< a fixed number of users, each with one request at a time
  constant,  ///< equal distances
  poisson,   ///< independent arrivals: exponential distances
  gamma,     ///< distances of a gamma law: burstier than Poisson with a shape below 1
  ramp,      ///< Poisson arrivals whose rate goes from `rate` to `rate_end` in a straight line over the run
  trace,     ///< times from a file
};

struct Arrivals {
  ArrivalKind kind = ArrivalKind::closed;
  double rate = 0;      ///< requests/s
  double rate_end = 0;  ///< of a ramp
  double shape = 1;     ///< of gamma: 1 is Poisson
};

/// "poisson", "constant", "gamma:0.25", "ramp:100" (up or down to 100 requests/s).
[[nodiscard]] Result<Arrivals> parse_arrivals(std::string_view text, double rate);
[[nodiscard]] std::string to_text(const Arrivals& arrivals);

/// Nanoseconds after the start, ascending: all below `duration_s`, at most `most`. A Poisson process is not rescaled to
/// have exactly rate x duration arrivals: its count varies, as that of real traffic does.
[[nodiscard]] std::vector<std::int64_t> due_times_ns(const Arrivals& arrivals, double duration_s, std::int64_t most,
                                                     std::uint64_t seed);

// Random numbers of the laws that traffic follows, from the reproducible generator of stats/: the same seed gives the
// same traffic on every machine. Normal by the inverse of its distribution; gamma by Marsaglia and Tsang, ACM Trans.
// Math. Softw. 26, 2000. Pure.

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
