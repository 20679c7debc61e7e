// Series of sessions with and without a change, and how often change points are found in them. Shared by the tests and
// by bench/change_point_simulation.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "stats/change_points.h"
#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::stats {

/// Around 100, with stationary AR(1) noise.
struct SimulatedSeries {
  std::size_t n = 100;
  double rho = 0;
  double cv = 0.02;      ///< standard deviation of the noise, relative
  double step = 0;       ///< relative change of the last values
  std::size_t last = 0;  ///< how many
  double spike = 0;      ///< relative change of one value
  std::size_t at = 0;    ///< which one
};

inline std::vector<double> simulated(const SimulatedSeries& what, int trial) {
  const auto seed = derive_seed(23, static_cast<std::uint64_t>(trial));
  std::vector<double> series;
  double state = 0;
  for (std::size_t i = 0; i < what.n; ++i) {
    const double fresh = normal_quantile((static_cast<double>(random_bits(seed, i) >> 12) + 0.5) * 0x1p-52);
    state = i == 0 ? fresh : what.rho * state + std::sqrt(1 - what.rho * what.rho) * fresh;
    const double changed = (i + what.last >= what.n ? 1 + what.step : 1) * (i == what.at ? 1 + what.spike : 1);
    series.push_back(100 * changed * (1 + what.cv * state));
  }
  return series;
}

/// Share of the trials in which there is a change point anywhere.
inline double share_with_changes(const SimulatedSeries& what, const ChangePointOptions& options, int trials) {
  int found = 0;
  for (int trial = 0; trial < trials; ++trial) found += !change_points(simulated(what, trial), options).empty();
  return static_cast<double>(found) / trials;
}

/// Share of the trials in which there is one change point and it lies where the step is, or one value beside it.
inline double share_of_steps_found(const SimulatedSeries& what, const ChangePointOptions& options, int trials) {
  int found = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const auto points = change_points(simulated(what, trial), options);
    found += points.size() == 1 && std::llabs(points[0].index - static_cast<std::int64_t>(what.n - what.last)) <= 1;
  }
  return static_cast<double>(found) / trials;
}

}  // namespace warpmark::stats
