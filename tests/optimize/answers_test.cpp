#include "optimize/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace warpmark::optimize {
namespace {

using workers::ProgramReport;

/// A training of 60 steps whose losses are multiplied by something.
ProgramReport training(double factor, std::size_t from = 0) {
  ProgramReport report;
  for (std::size_t i = 0; i < 60; ++i) {
    const double loss = 2 * std::exp(-static_cast<double>(i) / 50) + 0.1 * std::sin(static_cast<double>(7 * i));
    report.losses.push_back(loss * (i >= from ? factor : 1));
    report.steps.push_back({.end_s = static_cast<double>(i), .samples = 8});
  }
  report.window = workers::Window{.steps = 50, .seconds = 50, .samples = 400};
  return report;
}

AnswerVerdict judged(const ProgramReport& candidate, const NumericsSet& numerics) {
  const std::vector<ProgramReport> baselines{training(1), training(1)};
  return judge_answers(baselines, candidate, numerics, {});
}

TEST(Answers, equal_losses_are_the_same_for_every_kind_of_knob) {
  for (const auto numerics : {Numerics::exact, Numerics::rounding, Numerics::precision, Numerics::semantic}) {
    EXPECT_TRUE(judged(training(1), numerics).same) << name_of(numerics);
  }
}

TEST(Answers, what_is_allowed_grows_with_the_kind_of_knob) {
  EXPECT_FALSE(judged(training(1 + 1e-5), Numerics::exact).same);
  EXPECT_TRUE(judged(training(1 + 1e-5), Numerics::rounding).same);
  EXPECT_FALSE(judged(training(1.005), Numerics::rounding).same);
  EXPECT_TRUE(judged(training(1.005), Numerics::precision).same);
  EXPECT_FALSE(judged(training(1.1), Numerics::precision).same);
}

TEST(Answers, one_run_of_the_original_does_not_show_what_two_differ_by) {
  const std::vector<ProgramReport> one{training(1)}, two{training(1), training(1)};
  EXPECT_TRUE(judge_answers(one, training(1 + 1.3e-5), Numerics::exact, {}).same);
  EXPECT_FALSE(judge_answers(one, training(1.005), Numerics::exact, {}).same);
  const auto refused = judge_answers(two, training(1 + 1.33e-5), Numerics::exact, {});
  EXPECT_FALSE(refused.same);
  EXPECT_EQ(refused.check.text, "the first losses differ by 0.0013 % (allowed: 0.0001 %)");
}

TEST(Answers, sums_of_16_bits_in_another_order_differ_by_more) {
  EXPECT_TRUE(judged(training(1.005), Numerics::rounding_of_16_bits).same);
  EXPECT_FALSE(judged(training(1.015), Numerics::rounding_of_16_bits).same);
  EXPECT_FALSE(judged(training(1.005), Numerics::rounding).same) << "as of a knob that may do anything";
}

TEST(Answers, of_several_settings_the_widest_limit_counts) {
  NumericsSet both = Numerics::exact;
  EXPECT_TRUE(both.only_exact());
  both.add(Numerics::precision);
  EXPECT_FALSE(both.only_exact());
  EXPECT_TRUE(judged(training(1.015), both).same) << "nothing exact could follow fewer bits otherwise";
  EXPECT_FALSE(judged(training(1.05), both).same);
  both.add(Numerics::random_streams);
  auto drawn = training(1);
  drawn.losses[0] *= 1.5;
  EXPECT_TRUE(judged(drawn, both).same) << "another draw: first losses are not judged";
  EXPECT_FALSE(judged(drawn, Numerics::precision).same);
}

TEST(Answers, a_late_drift_is_found_by_the_trend) {
  const auto verdict = judged(training(1.05, 30), Numerics::rounding);
  EXPECT_FALSE(verdict.same);
  EXPECT_NE(verdict.check.text.find("last third"), std::string::npos) << verdict.check.text;
}

TEST(Answers, noise_of_repeated_baselines_is_allowed) {
  const std::vector<ProgramReport> noisy{training(1), training(1.03)};
  EXPECT_TRUE(judge_answers(noisy, training(1.06), Numerics::exact, {}).same);
  EXPECT_FALSE(judge_answers(noisy, training(1.2), Numerics::exact, {}).same);
}

/// Losses of a GAN: they wander, and two runs part after a few steps.
ProgramReport wandering(unsigned seed, double drift) {
  ProgramReport report = training(1);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  double now = 0;
  report.losses.clear();
  for (std::size_t i = 0; i < 120; ++i) {
    now = 0.8 * now + normal(random);
    report.losses.push_back((i == 0 ? 1 : 1 + now) + drift * static_cast<double>(i));
  }
  return report;
}

TEST(Answers, losses_that_wander_do_not_decide_by_chance_and_a_training_that_diverges_is_refused) {
  int same = 0, diverged = 0;
  for (unsigned i = 0; i < 100; ++i) {
    const std::vector<ProgramReport> baselines{wandering(2 * i, 0)};
    const auto is_same = [&](double drift) {
      return judge_answers(baselines, wandering(2 * i + 1, drift), Numerics::precision, {.state_checked = true}).same;
    };
    same += is_same(0) ? 1 : 0;
    diverged += is_same(0.2) ? 0 : 1;
  }
  EXPECT_GE(same, 93) << "64 of 100 if steps were independent";
  EXPECT_GE(diverged, 95);
}

TEST(Answers, losses_of_opponents_are_only_finite) {
  const auto game = [](double level, std::size_t optimizers) {
    auto report = training(1);
    report.optimizers.resize(optimizers);
    report.losses.assign(3 * report.steps.size(), level);
    report.losses.front() = 1;  // before any update both runs have the same
    return report;
  };
  const auto is_same = [&](const ProgramReport& candidate, std::size_t optimizers, bool checked) {
    const std::vector<ProgramReport> baselines{game(0.01, optimizers)};
    return judge_answers(baselines, candidate, Numerics::precision, {.state_checked = checked}).same;
  };
  EXPECT_TRUE(is_same(game(0.1, 2), 2, true));
  EXPECT_FALSE(is_same(game(0.1, 2), 2, false)) << "nothing else was compared";
  EXPECT_FALSE(is_same(game(0.1, 1), 1, true)) << "gradients that are added up";
  EXPECT_FALSE(is_same(game(std::nan(""), 2), 2, true));
}

TEST(Answers, a_loss_that_is_no_number_is_refused_and_its_step_named) {
  auto broken = training(1);
  broken.losses[17] = std::numeric_limits<double>::quiet_NaN();
  const auto verdict = judged(broken, Numerics::semantic);
  EXPECT_FALSE(verdict.same);
  EXPECT_NE(verdict.check.text.find("step 18"), std::string::npos) << verdict.check.text;
}

TEST(Answers, other_samples_a_step_are_refused_unless_they_were_meant) {
  auto dropped = training(1);
  for (auto& step : dropped.steps) step.samples = 7;
  EXPECT_FALSE(judged(dropped, Numerics::rounding).same);
  EXPECT_TRUE(judged(dropped, Numerics::semantic).same);
}

TEST(Answers, fewer_steps_are_refused) {
  auto cut = training(1);
  cut.steps.resize(40);
  EXPECT_TRUE(judged(cut, Numerics::exact).same) << "a shorter window";
  cut.ended = "exit";
  EXPECT_FALSE(judged(cut, Numerics::exact).same);
}

TEST(Answers, algorithms_that_are_chosen_by_their_time_add_up_in_their_own_order) {
  auto chosen = training(1 + 1e-5);
  EXPECT_FALSE(judged(chosen, Numerics::exact).same);
  chosen.benchmarks = true;
  EXPECT_TRUE(judged(chosen, Numerics::exact).same);
}

TEST(Answers, a_semantic_knob_may_learn_better_but_not_worse) {
  EXPECT_TRUE(judged(training(0.5), Numerics::semantic).same);
  EXPECT_FALSE(judged(training(1.5), Numerics::semantic).same);
  EXPECT_FALSE(judged(training(0.5), Numerics::precision).same) << "a lower loss is as suspicious as a higher one";
}

TEST(Answers, outputs_of_16_bits_may_differ_by_what_those_leave) {
  ProgramReport a, b, far;
  a.outputs = {{1, 2, 3}};
  b.outputs = {{1.008, 2.016, 3.024}};
  far.outputs = {{1.02, 2.04, 3.06}};
  EXPECT_FALSE(judge_answers(std::vector{a}, b, Numerics::rounding, {}).same);
  a.half_outputs = true;
  EXPECT_TRUE(judge_answers(std::vector{a}, b, Numerics::rounding, {}).same);
  EXPECT_FALSE(judge_answers(std::vector{a}, far, Numerics::rounding, {}).same);
  EXPECT_FALSE(judge_answers(std::vector{a}, b, Numerics::exact, {}).same);
}

TEST(Answers, outputs_are_compared_where_there_is_no_loss) {
  const auto with_outputs = [](double shift) {
    ProgramReport report;
    report.outputs = {{1 + shift, 2, 3}, {4, 5, 6}};
    return report;
  };
  const std::vector<ProgramReport> baselines{with_outputs(0)};
  EXPECT_TRUE(judge_answers(baselines, with_outputs(0), Numerics::exact, {}).same);
  EXPECT_FALSE(judge_answers(baselines, with_outputs(0.01), Numerics::rounding, {}).same);
  EXPECT_TRUE(judge_answers(baselines, with_outputs(0.01), Numerics::precision, {}).same);
  EXPECT_FALSE(judge_answers(baselines, with_outputs(1), Numerics::precision, {}).same);
}

TEST(StateCheck, limits_follow_the_kind_of_the_settings) {
  StateCheck check{.trains = true, .difference = {0.01, 0.05}, .cosine = 0.998};
  EXPECT_TRUE(judge_state(check, Numerics::precision).same);
  EXPECT_FALSE(judge_state(check, Numerics::rounding).same);
  EXPECT_FALSE(judge_state(check, Numerics::exact).same);
  check.difference = {0.2, 0.05};
  EXPECT_FALSE(judge_state(check, Numerics::precision).same) << "outputs that far off are no rounding";
  check.difference = {0.01, 0.9};
  check.cosine = 0.5;
  EXPECT_FALSE(judge_state(check, Numerics::precision).same) << "gradients of another direction";
}

// A siamese ResNet-18 of pytorch/examples on an H200: rounding alone changes its gradients by 5.4 %, compiling by 5.8
// %.
TEST(StateCheck, gradients_that_rounding_changes_may_change_as_much_by_another_order_of_additions) {
  StateCheck check{.trains = true, .difference = {3e-6, 0.058}, .cosine = 0.9983};
  EXPECT_FALSE(judge_state(check, Numerics::rounding).same);
  check.rounding = {1e-6, 0.054};
  EXPECT_TRUE(judge_state(check, Numerics::rounding).same);
  EXPECT_FALSE(judge_state(check, Numerics::exact).same) << "which adds up in the same order";
  check.difference.gradients = 0.2, check.cosine = 0.98;
  EXPECT_FALSE(judge_state(check, Numerics::rounding).same);
}

TEST(StateCheck, another_draw_is_allowed_where_random_numbers_come_in_another_order) {
  StateCheck check{.trains = true, .difference = {0.3, 0.8}, .cosine = 0.6, .spread = {0.3, 0.8}};
  EXPECT_FALSE(judge_state(check, Numerics::rounding).same);
  EXPECT_TRUE(judge_state(check, Numerics::random_streams).same);
  check.difference.outputs = 1;
  EXPECT_FALSE(judge_state(check, Numerics::random_streams).same) << "further than another draw of the program";
}

TEST(StateCheck, what_the_original_differs_by_itself_is_no_check_where_it_is_large) {
  StateCheck check{.difference = {0, 0}, .spread = {0.44, 0.8}};
  auto verdict = judge_state(check, Numerics::random_streams);
  EXPECT_TRUE(verdict.same);
  EXPECT_DOUBLE_EQ(verdict.check.allowed, 0.1);
  check.difference.outputs = 0.3;
  verdict = judge_state(check, Numerics::random_streams);
  EXPECT_TRUE(verdict.same);
  EXPECT_EQ(verdict.check.kind, "none");
  EXPECT_TRUE(verdict.check.text.starts_with("not comparable at the same state")) << verdict.check.text;
}

TEST(Answers, losses_that_differ_as_much_by_chance_are_not_checked) {
  const std::vector<ProgramReport> noisy{training(1), training(1.1)};
  const auto verdict = judge_answers(noisy, training(1.2), Numerics::rounding, {});
  EXPECT_TRUE(verdict.same);
  EXPECT_EQ(verdict.check.kind, "none");
  EXPECT_EQ(judge_answers(noisy, training(1.05), Numerics::rounding, {}).check.allowed, 0.1);
}

TEST(StateCheck, values_that_are_not_finite_are_refused_unless_they_were_before) {
  StateCheck check{.finite = false};
  EXPECT_FALSE(judge_state(check, Numerics::precision).same);
  check.finite_before = false;
  EXPECT_TRUE(judge_state(check, Numerics::precision).same);
}

}  // namespace
}  // namespace warpmark::optimize
