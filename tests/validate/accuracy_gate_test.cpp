// Gates on simulated accuracies: how often B is rejected or accepted wrongly.
#include "validate/judge/gates.h"

#include <gtest/gtest.h>

#include "validate/noise_models.h"

namespace warpmark::validate {
namespace {

const Metric kTop1{.id = "top1", .unit = "", .better = Better::higher};
const Metric kLoss{.id = "loss", .unit = "", .better = Better::lower};

AccuracyGate gate(double margin, bool relative = false) {
  return {.metric = "m", .command = {}, .margin = margin, .relative = relative};
}

TEST(AccuracyGate, is_decided_by_margin_and_direction) {
  const std::vector<double> high(8, 0.76), low(8, 0.74);
  EXPECT_EQ(judge_accuracy(gate(0.03), kTop1, high, low, {}).outcome, AccuracyOutcome::accepted);
  EXPECT_EQ(judge_accuracy(gate(0.01), kTop1, high, low, {}).outcome, AccuracyOutcome::rejected);
  EXPECT_EQ(judge_accuracy(gate(0.01), kLoss, high, low, {}).outcome, AccuracyOutcome::accepted);
  EXPECT_EQ(judge_accuracy(gate(0.01), kLoss, low, high, {}).outcome, AccuracyOutcome::rejected);
  EXPECT_EQ(judge_accuracy(gate(0.03, true), kTop1, high, low, {}).outcome, AccuracyOutcome::accepted);
  EXPECT_EQ(judge_accuracy(gate(0.02, true), kTop1, high, low, {}).outcome, AccuracyOutcome::rejected);
  EXPECT_EQ(judge_accuracy(gate(0), kTop1, high, high, {}).outcome, AccuracyOutcome::accepted);
  EXPECT_EQ(judge_accuracy(gate(0), kTop1, high, low, {}).outcome, AccuracyOutcome::rejected);
}

TEST(AccuracyGate, cannot_tell_from_too_few_rounds) {
  const std::vector<double> few(3, 0.76);
  EXPECT_EQ(judge_accuracy(gate(0.01), kTop1, few, few, {}).outcome, AccuracyOutcome::inconclusive);
  EXPECT_EQ(judge_accuracy(gate(0.01), kTop1, {}, {}, {}).outcome, AccuracyOutcome::inconclusive);
  const std::vector<double> noisy_a{0.7, 0.8, 0.75, 0.72, 0.79, 0.71, 0.78},
      noisy_b{0.79, 0.7, 0.72, 0.78, 0.71, 0.8, 0.7};
  EXPECT_EQ(judge_accuracy(gate(0.01), kTop1, noisy_a, noisy_b, {}).outcome, AccuracyOutcome::inconclusive);
}

TEST(AccuracyGate, needs_every_run_of_b_to_be_right_for_a_command) {
  const AccuracyGate command{.metric = "", .command = {"check"}};
  const std::vector<double> right(5, 1), wrong{1, 1, 0, 1, 1};
  EXPECT_EQ(judge_accuracy(command, {}, right, right, {}).outcome, AccuracyOutcome::accepted);
  EXPECT_EQ(judge_accuracy(command, {}, wrong, right, {}).outcome, AccuracyOutcome::accepted);
  EXPECT_EQ(judge_accuracy(command, {}, right, wrong, {}).outcome, AccuracyOutcome::rejected);
  EXPECT_EQ(judge_accuracy(command, {}, {}, {}, {}).outcome, AccuracyOutcome::inconclusive);
}

/// Share of simulated comparisons, looked at after every round, that end with this outcome.
double share(AccuracyOutcome wanted, double loss, const VerdictOptions& options, std::size_t rounds) {
  constexpr int kTrials = 400;
  int count = 0;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const auto a = noise_of(Noise::iid, 2 * trial, rounds, 0.01);
    auto b = noise_of(Noise::iid, 2 * trial + 1, rounds, 0.01);
    for (double& value : b) value -= loss;
    AccuracyOutcome outcome = AccuracyOutcome::inconclusive;
    for (std::size_t n = options.sequential ? 2 : rounds; n <= rounds && outcome == AccuracyOutcome::inconclusive;
         ++n) {
      outcome = judge_accuracy(gate(0.01), kTop1, std::span(a).first(n), std::span(b).first(n), options).outcome;
    }
    count += outcome == wanted ? 1 : 0;
  }
  return static_cast<double>(count) / kTrials;
}

TEST(AccuracyGate, holds_its_error_rates) {
  // 5 % and three standard errors of 400 trials.
  constexpr double kMost = 0.05 + 0.033;
  for (const bool sequential : {true, false}) {
    for (const bool paired : {true, false}) {
      if (sequential && !paired) continue;
      const VerdictOptions options{.paired = paired, .sequential = sequential};
      EXPECT_LE(share(AccuracyOutcome::accepted, 0.01, options, 40), kMost);  // just as bad as is not allowed
      EXPECT_LE(share(AccuracyOutcome::rejected, 0.01, options, 40), kMost);
      EXPECT_GE(share(AccuracyOutcome::accepted, 0.0, options, 80), 0.9);
      EXPECT_GE(share(AccuracyOutcome::rejected, 0.02, options, 80), 0.9);
    }
  }
}

}  // namespace
}  // namespace warpmark::validate
