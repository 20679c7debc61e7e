#include "optimize/screening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "optimize/apply/program_trials.h"
#include "optimize/screened_settings.h"

namespace warpmark::optimize {
namespace {

using ::testing::HasSubstr;

workers::ScreeningPlan plan_of(std::size_t knobs) {
  workers::ScreeningPlan plan{.rounds = 12, .block_steps = 10, .wash_steps = 2};
  for (std::size_t i = 0; i < knobs; ++i) plan.switches.emplace_back("k" + std::to_string(i), "on");
  return plan;
}

/// `factors` of the time by arm; each block is off by the noise, and all blocks of a round by its drift.
workers::ProgramReport report_of(const std::vector<double>& factors, double noise, int rounds = 12, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  workers::ProgramReport report;
  for (int round = 0; round < rounds; ++round) {
    const double drift = std::exp(0.3 * normal(random));
    for (std::size_t arm = 0; arm < factors.size(); ++arm) {
      const double first = round == 0 && arm > 1 ? 5 : 1;  // kernels are chosen
      report.blocks.push_back({.arm = static_cast<std::int64_t>(arm),
                               .round = round,
                               .steps = 10,
                               .seconds = factors[arm] * drift * first * std::exp(noise * normal(random)),
                               .samples = 80});
    }
  }
  for (std::size_t arm = 2; arm < factors.size(); ++arm) {
    report.switches.push_back({.arm = static_cast<std::int64_t>(arm), .id = "k", .value = "on", .said = {}});
  }
  return report;
}

TEST(Screening, discards_what_is_no_faster_and_lets_gains_pass) {
  const auto all = judge_screening(plan_of(4), report_of({1, 1, 1, 0.8, 1.3, 0.985}, 0.003), 0.01, false);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[0].discard) << all[0].text;
  EXPECT_FALSE(all[1].discard) << all[1].text;
  EXPECT_NEAR(all[1].gain->ratio, 1.25, 0.02);
  EXPECT_TRUE(all[2].discard) << all[2].text;
  EXPECT_FALSE(all[3].discard) << all[3].text;
  EXPECT_EQ(all[1].rounds, 11) << "the first round is for practice";
}

TEST(Screening, discards_nothing_that_noise_hides) {
  const auto all = judge_screening(plan_of(1), report_of({1, 1, 1}, 0.1), 0.01, false);
  EXPECT_FALSE(all[0].discard) << all[0].text;
  ASSERT_TRUE(all[0].gain);
  EXPECT_GT(all[0].gain->high, 1.01);
}

TEST(Screening, discards_a_gain_as_large_as_matters_in_one_of_twenty_at_most) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    wrong += judge_screening(plan_of(1), report_of({1, 1, 1 / 1.01}, 0.01, 12, seed), 0.01, false)[0].discard ? 1 : 0;
  }
  EXPECT_LE(wrong, 20) << "the upper end of a 95 % interval is passed in 2.5 %";
}

TEST(Screening, discards_nothing_where_blocks_without_a_knob_differ) {
  const auto all = judge_screening(plan_of(1), report_of({1, 1.2, 1.2}, 0.003), 0.01, false);
  EXPECT_FALSE(all[0].discard);
  EXPECT_THAT(all[0].text, HasSubstr("blocks without a knob differ by 20 %"));
}

TEST(Screening, needs_rounds_and_says_what_went_wrong) {
  EXPECT_THAT(judge_screening(plan_of(1), report_of({1, 1, 2}, 0.003, 4), 0.01, false)[0].text,
              HasSubstr("only 3 rounds"));
  auto report = report_of({1, 1, 2}, 0.003);
  report.switches[0].said = "the program does so";
  const auto said = judge_screening(plan_of(1), report, 0.01, false)[0];
  EXPECT_FALSE(said.discard);
  EXPECT_EQ(said.text, "the program does so");
  report.switches.clear();
  report.switched_last = 2;
  EXPECT_TRUE(judge_screening(plan_of(1), report, 0.01, false)[0].discard) << "it ended by itself";
  EXPECT_THAT(judge_screening(plan_of(1), report, 0.01, true)[0].text, HasSubstr("failed while it was on"));
  report.world = 2;
  report.switched_last = 0;
  const auto ranks = judge_screening(plan_of(1), report, 0.01, true)[0];
  EXPECT_FALSE(ranks.discard || ranks.gain) << ranks.text;
  EXPECT_TRUE(judge_screening(plan_of(1), report, 0.01, false)[0].discard);
  EXPECT_EQ(judge_screening(plan_of(2), {}, 0.01, false).size(), 2U);
}

TEST(Screening, is_planned_within_the_time_and_the_steps_that_there_are) {
  const std::vector<Setting> settings{{"a", "on"}, {"b", "on"}};
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const ScreeningLimits limits{.step_s = 0.01, .most_s = 1000, .left_s = kNoLimit, .wanted_s = kNoLimit};
  const auto with = [&](auto&& change) {
    auto changed = limits;
    change(changed);
    return plan_screening(settings, changed, 7);
  };
  const auto plan = plan_screening(settings, limits, 7);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->block_steps, 10);
  EXPECT_EQ(plan->wash_steps, 2);
  EXPECT_EQ(plan->rounds, 20);
  EXPECT_EQ(plan->switches.size(), 2U);
  EXPECT_NEAR(plan->most_s, 2 * 20 * 4 * 12 * 0.01, 1e-9);
  EXPECT_EQ(with([](auto& l) { l.several_ranks = true; })->most_s, 0) << "ranks end at the same step";
  const auto hurried = with([](auto& l) { l.wanted_s = 0.1, l.left_s = 4; });
  ASSERT_TRUE(hurried);
  EXPECT_EQ(hurried->rounds, 6);
  EXPECT_EQ(hurried->most_s, 4) << "the budget";
  EXPECT_FALSE(with([](auto& l) { l.most_s = 2; })) << "six rounds take 2.9 s";
  EXPECT_FALSE(with([](auto& l) { l.left_s = 2; }));
  EXPECT_FALSE(with([](auto& l) { l.most_steps = 200; }));
  EXPECT_FALSE(plan_screening({}, limits, 7));
}

TEST(Screening, has_time_for_twice_its_plan_beside_what_a_run_may_take) {
  const auto run = screening_run({.plan = {}, .deadline_s = 60}, plan_of(2), 0.5);
  EXPECT_NEAR(run.deadline_s, 60 + 2 * (12 * 4 * 12 * 0.5), 1e-9) << "rounds of four blocks of twelve steps";
}

TEST(Screening, what_was_known_stays_where_nothing_could_be_screened) {
  ScreenedSettings settings;
  const Setting first{"a", "on"}, second{"b", "on"};
  EXPECT_EQ(settings.take({{.setting = first, .discard = true, .text = "slower"}}).size(), 1U);
  EXPECT_TRUE(settings.begin({}).empty());
  EXPECT_TRUE(settings.take({}).empty());
  EXPECT_TRUE(settings.discards(first));
  EXPECT_EQ(settings.take({{.setting = second, .discard = false, .text = "faster"}}).size(), 1U);
  EXPECT_EQ(settings.known(first), nullptr);
}

}  // namespace
}  // namespace warpmark::optimize
