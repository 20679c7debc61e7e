// Whole comparisons on simulated machines, counted. Shared by the tests and by bench/verdict_simulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "validate/compare/compare_run.h"
#include "validate/fake_experiment.h"
#include "validate/judge/planning.h"
#include "validate/judge/verdict.h"
#include "validate/noise_models.h"

namespace warpmark::validate {

struct SimulationOptions {
  Noise noise = Noise::iid;
  double cv = 0.02;
  double true_ratio = 1;  ///< B / A
  double effect = 0.02;
  std::int64_t rounds = 40;
  Interleave interleave = Interleave::pair;
  bool stop_early = true;
  int metrics = 1;
  int trials = 400;
  std::uint64_t seed = 1;
};

/// Shares of the trials.
struct SimulationResult {
  double better = 0;
  double worse = 0;
  double same = 0;
  double inconclusive = 0;
  double covered = 0;       ///< the interval holds the true ratio, of trials that have one
  double other_alarms = 0;  ///< any metric but the first called better or worse
  double mean_rounds = 0;
  double asked = 0;       ///< inconclusive at first (simulate_asking)
  double mean_asked = 0;  ///< rounds in all that those ask for
};

/// One whole comparison of one or more metrics that share nothing but the machine's time; of the first B differs, of
/// the others it does not. Empty if it could not be made.
inline std::optional<Comparison> simulated_comparison(const SimulationOptions& options, int trial) {
  const auto seed = stats::derive_seed(options.seed, static_cast<std::uint64_t>(trial));
  const Schedule schedule{.interleave = options.interleave, .rounds = options.rounds, .seed = seed};
  std::vector<std::vector<double>> noise;
  for (int metric = 0; metric < options.metrics; ++metric) {
    noise.push_back(noise_of(options.noise,
                             metric == 0 ? seed : stats::derive_seed(seed, 1000 + static_cast<std::uint64_t>(metric)),
                             static_cast<std::size_t>(schedule.slots()), options.cv));
  }
  std::size_t time = 0;  // of the machine, which both variants share
  FakeExperiment a([&](std::int64_t) { return noise[0][time++]; });
  FakeExperiment b([&](std::int64_t) { return options.true_ratio * noise[0][time++]; });
  a.further = b.further = [&](std::int64_t) {
    std::vector<double> values;
    for (std::size_t metric = 1; metric < noise.size(); ++metric) values.push_back(noise[metric][time - 1]);
    return values;
  };
  auto outcome = run_ab({&a, {}, "A"}, {&b, {}, "B"},
                        {.schedule = schedule,
                         .effect = options.effect,
                         .warmup_runs = 0,
                         .stop_early = options.stop_early,
                         .further_tests = false},
                        {}, {.sample_done = {}, .progress = {}, .clock_s = [] { return 0.0; }});
  if (!outcome.ok()) return std::nullopt;  // its share is missing, which every check notices
  return std::move(outcome->comparison);
}

inline void count(const Comparison& comparison, double share, double true_ratio, SimulationResult& result) {
  const auto& metric = comparison.metrics.front();
  switch (metric.verdict) {
    case Verdict::better: result.better += share; break;
    case Verdict::worse: result.worse += share; break;
    case Verdict::same: result.same += share; break;
    case Verdict::inconclusive: result.inconclusive += share; break;
    case Verdict::different:
    case Verdict::unreliable: break;
  }
  if (metric.interval && metric.interval->low <= true_ratio && true_ratio <= metric.interval->high) {
    result.covered += share;
  }
  for (std::size_t i = 1; i < comparison.metrics.size(); ++i) {
    const Verdict verdict = comparison.metrics[i].verdict;
    if (verdict != Verdict::better && verdict != Verdict::worse) continue;
    result.other_alarms += share;
    break;
  }
  result.mean_rounds += share * static_cast<double>(comparison.rounds);
}

inline SimulationResult simulate(const SimulationOptions& options) {
  SimulationResult result;
  for (int trial = 0; trial < options.trials; ++trial) {
    const auto comparison = simulated_comparison(options, trial);
    if (comparison) count(*comparison, 1.0 / options.trials, options.true_ratio, result);
  }
  return result;
}

/// As a person does it: a comparison of `rounds`, and where it is inconclusive one with as many rounds more as it asks
/// for. What is counted is how it ends.
inline SimulationResult simulate_asking(const SimulationOptions& options) {
  SimulationResult result;
  const double share = 1.0 / options.trials;
  for (int trial = 0; trial < options.trials; ++trial) {
    auto comparison = simulated_comparison(options, trial);
    if (!comparison) continue;
    std::int64_t more = 0;
    for (const auto& metric : comparison->metrics) more = std::max(more, metric.more_rounds.value_or(0));
    if (more > 0) {
      SimulationOptions longer = options;
      longer.rounds = comparison->rounds + more;
      result.asked += share;
      result.mean_asked += static_cast<double>(longer.rounds);
      comparison = simulated_comparison(longer, trial);
    }
    if (comparison) count(*comparison, share, options.true_ratio, result);
  }
  if (result.asked > 0) result.mean_asked /= result.asked * options.trials;
  return result;
}

}  // namespace warpmark::validate
