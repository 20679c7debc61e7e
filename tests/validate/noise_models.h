// The noise that comparisons are simulated with, as multipliers of a time; one sequence over both variants, as on one
// machine. Used by the tests and by bench/verdict_simulation.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/fields/names.h"
#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::validate {

enum class Noise { iid, ar1, drift, bimodal, heavy_tail, bursts };
inline constexpr std::array kNoises{Noise::iid,     Noise::ar1,        Noise::drift,
                                    Noise::bimodal, Noise::heavy_tail, Noise::bursts};

constexpr auto kNoiseNames =
    in_order(Noise::bursts, "iid", "AR(1) rho 0.6", "drift 5 %", "bimodal", "heavy tail", "bursts");
constexpr Names names_of(Noise) { return kNoiseNames; }

/// `n` multipliers with a spread of about `cv`.
inline std::vector<double> noise_of(Noise noise, std::uint64_t seed, std::size_t n, double cv) {
  const auto unit = [&](std::uint64_t stream, std::size_t i) {
    return (static_cast<double>(stats::random_bits(stats::derive_seed(seed, stream), i) >> 12) + 0.5) * 0x1p-52;
  };
  const auto normal = [&](std::uint64_t stream, std::size_t i) { return stats::normal_quantile(unit(stream, i)); };
  std::vector<double> values;
  double state = normal(9, 0);
  bool busy = unit(8, 0) < 0.5;
  for (std::size_t i = 0; i < n; ++i) {
    double z = 0;
    switch (noise) {
      case Noise::iid: z = normal(0, i); break;
      case Noise::ar1: z = state = 0.6 * state + 0.8 * normal(0, i); break;
      case Noise::drift: z = normal(0, i) + 0.05 / cv * static_cast<double>(i) / static_cast<double>(n); break;
      case Noise::bimodal: z = (unit(1, i) < 0.5 ? -1 : 1) + 0.2 * normal(0, i); break;
      // Log-normal spikes on one run in ten, as from a busy neighbour.
      case Noise::heavy_tail: z = 0.7 * normal(0, i) + (unit(1, i) < 0.1 ? std::exp(normal(2, i)) : 0); break;
      // Neighbours that are busy and idle by turns, some runs long: what a run meets of them is part of its time.
      case Noise::bursts:
        if (unit(3, i) < 0.35) busy = !busy;
        z = 0.15 * normal(0, i) + (busy ? 3.3 * unit(4, i) : 0);
        break;
    }
    values.push_back(std::exp(cv * z));
  }
  return values;
}

/// Standard deviation of the log ratio of two runs in a row, by the formulas of the moments.
inline double spread_of_pairs(Noise noise, double cv) {
  const auto independent = [&](double variance) { return cv * std::sqrt(2 * variance); };
  switch (noise) {
    case Noise::iid:
    case Noise::drift: return independent(1);  // within a round a drift is next to nothing
    case Noise::ar1: return independent(1 - 0.6);
    case Noise::bimodal: return independent(1 + 0.2 * 0.2);
    // exp of a standard normal value: mean e^(1/2), mean square e^2.
    case Noise::heavy_tail: return independent(0.7 * 0.7 + 0.1 * std::exp(2) - 0.01 * std::exp(1));
    // Half of the runs are busy, uniform in (0, 3.3); two in a row are both busy with 0.325.
    case Noise::bursts: return independent(0.15 * 0.15 + 0.5 * 3.3 * 3.3 / 3 - 0.325 * 3.3 * 3.3 / 4);
  }
  return 0;
}

/// `n` results that hardly move around a level: 0.3 % up and down, without a trend.
inline std::vector<double> quiet(std::size_t n, double level = 1) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(level * (1 + 0.003 * std::sin(static_cast<double>(i) * 2.4)));
  return values;
}

}  // namespace warpmark::validate
