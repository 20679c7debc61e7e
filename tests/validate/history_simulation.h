// Whole checks against simulated histories, counted: a series of sessions with noise of the kind asked for, its changes
// of level found as in a real check, then the verdict on new sessions. Shared by the tests and by
// bench/regression_simulation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "validate/guard/regression.h"
#include "validate/noise_models.h"

namespace warpmark::validate {

struct HistorySimulation {
  Noise noise = Noise::iid;
  double cv = 0.02;           ///< spread of a session
  std::int64_t history = 30;  ///< sessions of the baseline
  std::int64_t fresh = 1;     ///< new sessions
  double true_ratio = 1;      ///< of the new sessions to what they would be without a change
  double accepted = 1;        ///< a change of level that was accepted ten sessions ago, a ratio
  std::int64_t metrics = 1;   ///< judged together; only those with even numbers change
  RegressionOptions check;
  int trials = 400;
  std::uint64_t seed = 1;
};

/// Shares of the trials; of several metrics `worse` is any of them.
struct HistoryResult {
  double worse = 0;
  double better = 0;
  double same = 0;
  double inconclusive = 0;
};

inline MetricCheck simulated_metric(const HistorySimulation& what, std::uint64_t seed, double ratio) {
  const auto history = static_cast<std::size_t>(what.history), fresh = static_cast<std::size_t>(what.fresh);
  const auto noise = noise_of(what.noise, seed, history + fresh, what.cv);
  MetricCheck metric{.label = "m", .metric = "time", .unit = "s"};
  for (std::size_t i = 0; i < history + fresh; ++i) {
    const double level = (i + 10 >= history ? what.accepted : 1) * (i >= history ? ratio : 1);
    HistoryPoint point{.session = std::to_string(i), .n = 10, .value = level * noise[i]};
    (i < history ? metric.baseline : metric.current).push_back(std::move(point));
  }
  return metric;
}

inline HistoryResult simulate_history(const HistorySimulation& what) {
  HistoryResult result;
  const double share = 1.0 / what.trials;
  for (int trial = 0; trial < what.trials; ++trial) {
    std::vector<MetricCheck> metrics;
    for (std::int64_t i = 0; i < what.metrics; ++i) {
      const auto seed = stats::derive_seed(stats::derive_seed(what.seed, static_cast<std::uint64_t>(trial)),
                                           static_cast<std::uint64_t>(i));
      metrics.push_back(simulated_metric(what, seed, i % 2 == 0 ? what.true_ratio : 1));
    }
    judge_check(metrics, what.check);
    const auto any = [&](Verdict verdict) {
      return std::any_of(metrics.begin(), metrics.end(), [&](const auto& item) { return item.verdict == verdict; });
    };
    result.worse += any(Verdict::worse) ? share : 0;
    result.better += any(Verdict::better) ? share : 0;
    result.inconclusive += any(Verdict::inconclusive) ? share : 0;
    result.same += metrics.front().verdict == Verdict::same ? share : 0;
  }
  return result;
}

/// New sessions asked for under this noise, by a long history.
inline std::optional<std::int64_t> sessions_asked_for(Noise noise, double cv) {
  HistorySimulation what{.noise = noise == Noise::drift ? Noise::iid : noise, .cv = cv, .history = 2000};
  const auto metric = simulated_metric(what, 77, 1);
  std::vector<double> values;
  for (const auto& point : metric.baseline) values.push_back(point.value);
  return sessions_needed(values, {}, {});
}

}  // namespace warpmark::validate
