// What a verdict promises is a frequency, so it is counted over whole simulated comparisons, early stopping included,
// under noise that machines have. Bounds leave three standard deviations of the count. bench/verdict_simulation prints
// the table with more trials.
#include "validate/simulation.h"

#include <gtest/gtest.h>

#include "support/sanitized.h"

namespace warpmark::validate {
namespace {

const int kComparisons = testing_support::trials(400);
double margin(double share) { return 3 * std::sqrt(share * (1 - share) / kComparisons); }

TEST(VerdictSimulation, equal_variants_are_seldom_called_different) {
  for (const Noise noise : kNoises) {
    const auto found = simulate({.noise = noise, .cv = 0.03, .effect = 0.01, .rounds = 40, .trials = kComparisons});
    EXPECT_LE(found.better + found.worse, 0.05 + margin(0.05)) << name_of(noise);
    EXPECT_NEAR(found.better + found.worse + found.same + found.inconclusive, 1, 1e-9) << name_of(noise);
  }
}

TEST(VerdictSimulation, a_fixed_number_of_rounds_keeps_the_rate_too) {
  for (const Noise noise : kNoises) {
    const auto found = simulate(
        {.noise = noise, .cv = 0.03, .effect = 0.01, .rounds = 20, .stop_early = false, .trials = kComparisons});
    EXPECT_LE(found.better + found.worse, 0.05 + margin(0.05)) << name_of(noise);
  }
}

TEST(VerdictSimulation, blocks_keep_the_rate_too) {
  for (const Noise noise : kNoises) {
    const auto found = simulate({.noise = noise,
                                 .cv = 0.03,
                                 .effect = 0.01,
                                 .rounds = 20,
                                 .interleave = Interleave::block,
                                 .trials = kComparisons});
    EXPECT_LE(found.better + found.worse, 0.05 + margin(0.05)) << name_of(noise);
  }
}

TEST(VerdictSimulation, without_interleaving_a_drift_is_taken_for_a_difference) {
  const auto found = simulate({.noise = Noise::drift,
                               .cv = 0.02,
                               .effect = 0.01,
                               .rounds = 20,
                               .interleave = Interleave::none,
                               .trials = kComparisons});
  EXPECT_GE(found.better + found.worse, 0.5) << "this is why interleaving is the default";
}

TEST(VerdictSimulation, an_effect_that_matters_is_found_in_the_rounds_asked_for) {
  constexpr double kEffect = 0.02;
  for (const Noise noise : kNoises) {
    const auto rounds = rounds_needed(spread_of_pairs(noise, 0.02), std::log1p(kEffect), {.effect = kEffect});
    const auto slower = simulate({.noise = noise,
                                  .cv = 0.02,
                                  .true_ratio = 1 + kEffect,
                                  .effect = kEffect,
                                  .rounds = rounds,
                                  .trials = kComparisons});
    EXPECT_GE(slower.worse, 0.9 - margin(0.9)) << name_of(noise) << " in " << rounds << " rounds";
    EXPECT_LE(slower.better, 0.01);
    const auto equal =
        simulate({.noise = noise, .cv = 0.02, .effect = kEffect, .rounds = rounds, .trials = kComparisons});
    EXPECT_GE(equal.same, 0.9 - margin(0.9)) << name_of(noise) << " in " << rounds << " rounds";
    EXPECT_LE(slower.mean_rounds, static_cast<double>(rounds));
  }
}

TEST(VerdictSimulation, what_an_inconclusive_comparison_asks_for_decides) {
  constexpr double kEffect = 0.02;
  for (const Noise noise : kNoises) {
    double asked = 0;
    for (const std::int64_t rounds : {10, 25}) {
      SimulationOptions options{
          .noise = noise, .cv = 0.02, .effect = kEffect, .rounds = rounds, .trials = testing_support::trials(200)};
      const double allowed = 3 * std::sqrt(0.9 * 0.1 / options.trials);
      const auto equal = simulate_asking(options);
      EXPECT_GE(equal.same, 0.9 - allowed) << name_of(noise) << " after " << rounds << " rounds";
      asked += equal.asked;
      options.true_ratio = 1 + kEffect;
      const auto slower = simulate_asking(options);
      EXPECT_GE(slower.worse, 0.9 - allowed) << name_of(noise) << " after " << rounds << " rounds";
    }
    EXPECT_GT(asked, 0) << name_of(noise);
  }
}

TEST(VerdictSimulation, many_metrics_cost_rounds_and_no_false_alarms) {
  const SimulationOptions one{
      .cv = 0.02, .true_ratio = 1.02, .effect = 0.02, .rounds = 100, .trials = testing_support::trials(100)};
  auto ten = one;
  ten.metrics = 10;
  const auto alone = simulate(one), among = simulate(ten);
  EXPECT_GE(among.worse, 0.9) << "p adjusted over 10 metrics";
  EXPECT_GT(among.mean_rounds, alone.mean_rounds);
  EXPECT_LE(among.other_alarms, 0.05 + 3 * std::sqrt(0.05 * 0.95 / ten.trials));
}

TEST(VerdictSimulation, intervals_cover_the_true_ratio) {
  for (const Noise noise : kNoises) {
    for (const bool stop_early : {true, false}) {
      const auto found = simulate({.noise = noise,
                                   .cv = 0.03,
                                   .true_ratio = 1.03,
                                   .effect = 0.01,
                                   .rounds = 25,
                                   .stop_early = stop_early,
                                   .trials = kComparisons});
      EXPECT_GE(found.covered, 0.95 - margin(0.95)) << name_of(noise) << (stop_early ? " sequential" : " fixed");
    }
  }
}

}  // namespace
}  // namespace warpmark::validate
