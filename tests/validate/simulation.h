// Whole comparisons on simulated machines, counted. Shared by the tests and by bench/verdict_simulation.
#pragma once

#include <cmath>
#include <cstdint>

#include "validate/ab_test.h"
#include "validate/fake_experiment.h"
#include "validate/noise_models.h"
#include "validate/verdict.h"

namespace warpmark::validate {

struct SimulationOptions {
  Noise noise = Noise::iid;
  double cv = 0.02;
  double true_ratio = 1;  ///< B / A
  double effect = 0.02;
  std::int64_t rounds = 40;
  Interleave interleave = Interleave::pair;
  bool stop_early = true;
  int trials = 400;
  std::uint64_t seed = 1;
};

/// Shares of the trials.
struct SimulationResult {
  double better = 0;
  double worse = 0;
  double same = 0;
  double inconclusive = 0;
  double covered = 0;  ///< the interval holds the true ratio, of trials that have one
  double mean_rounds = 0;
};

inline SimulationResult simulate(const SimulationOptions& options) {
  SimulationResult result;
  const double share = 1.0 / options.trials;
  for (int trial = 0; trial < options.trials; ++trial) {
    const auto seed = stats::derive_seed(options.seed, static_cast<std::uint64_t>(trial));
    const Schedule schedule{.interleave = options.interleave, .rounds = options.rounds, .seed = seed};
    const auto noise = noise_of(options.noise, seed, static_cast<std::size_t>(schedule.slots()), options.cv);
    std::size_t time = 0;  // of the machine, which both arms share
    FakeExperiment a([&](std::int64_t) { return noise[time++]; });
    FakeExperiment b([&](std::int64_t) { return options.true_ratio * noise[time++]; });
    const auto outcome = run_ab({&a, {}, "A"}, {&b, {}, "B"},
                                {.schedule = schedule,
                                 .effect = options.effect,
                                 .warmup_runs = 0,
                                 .stop_early = options.stop_early,
                                 .further_tests = false},
                                {}, {.sample_done = {}, .progress = {}, .clock_s = [] { return 0.0; }});
    if (!outcome.ok()) continue;  // its share is missing, which every check notices
    const auto& metric = outcome->comparison.metrics.front();
    switch (metric.verdict) {
      case Verdict::better: result.better += share; break;
      case Verdict::worse: result.worse += share; break;
      case Verdict::same: result.same += share; break;
      case Verdict::inconclusive: result.inconclusive += share; break;
      case Verdict::different:
      case Verdict::mistrusted: break;
    }
    if (metric.interval && metric.interval->low <= options.true_ratio && options.true_ratio <= metric.interval->high) {
      result.covered += share;
    }
    result.mean_rounds += share * static_cast<double>(outcome->comparison.rounds);
  }
  return result;
}

/// Standard deviation of one round's log ratio under this noise, from a long simulation.
inline double round_spread(Noise noise, double cv, Interleave interleave) {
  const Schedule schedule{.interleave = interleave, .rounds = 2000, .seed = 77};
  // A drift is one over the comparison, not over this longer simulation: within a round it is next to nothing.
  const auto values =
      noise_of(noise == Noise::drift ? Noise::iid : noise, 77, static_cast<std::size_t>(schedule.slots()), cv);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i + 1 < schedule.slots(); i += 2) {
    const double difference = std::log(values[static_cast<std::size_t>(i) + 1] / values[static_cast<std::size_t>(i)]);
    sum += difference;
    squares += difference * difference;
  }
  const auto n = static_cast<double>(schedule.slots()) / 2;
  return std::sqrt((squares - sum * sum / n) / (n - 1));
}

}  // namespace warpmark::validate
