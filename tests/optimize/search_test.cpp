#include "optimize/search.h"

#include <gmock/gmock.h>

#include "optimize/plan.h"
#include "optimize/search_fixture.h"

namespace warpmark::optimize {
namespace {

TEST_F(SearchTest, keeps_what_is_faster_and_measures_it_together) {
  proposals_ = {proposal("workers", "4", 3), proposal("bf16", "on", 2), proposal("slow", "on", 1.5)};
  trials_.settings = {{"workers=4", {0.5}}, {"bf16=on", {0.8}}, {"slow=on", {1.4}}};
  const auto optimization = run();
  EXPECT_EQ(optimization.plan.size(), 2u);
  ASSERT_TRUE(optimization.measured_speedup);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2.5, 1e-9);
  EXPECT_NEAR(*optimization.interaction, 1, 1e-9);
  EXPECT_EQ(step(optimization, "slow").outcome, TrialOutcome::slower);
  EXPECT_EQ(outcome_code(optimization), 0);
  ASSERT_TRUE(optimization.optimized);
  EXPECT_NEAR(optimization.optimized->seconds_per_step, 0.4, 1e-9);
  EXPECT_EQ(optimization.decisions, logged_);
}

TEST_F(SearchTest, tries_the_largest_predicted_gain_first) {
  proposals_ = {proposal("small", "on", 1.1), proposal("large", "on", 4)};
  const auto optimization = run();
  EXPECT_EQ(optimization.steps.front().knob, "large");
}

TEST_F(SearchTest, refuses_a_faster_setting_with_other_answers) {
  proposals_ = {proposal("wrong", "on", 2)};
  trials_.settings = {{"wrong=on", {0.1, "", false}}};
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "wrong").outcome, TrialOutcome::rejected);
  EXPECT_TRUE(optimization.plan.empty());
  EXPECT_EQ(outcome_code(optimization), 0);  // nobody asked for it
}

TEST_F(SearchTest, exit_code_reports_what_became_of_a_named_setting) {
  proposals_ = {proposal("wrong", "on", 2, true)};
  trials_.settings = {{"wrong=on", {0.1, "", false}}};
  const auto rejected = run();
  EXPECT_EQ(outcome_code(rejected), 4);
  EXPECT_THAT(rejected.verdict, ::testing::HasSubstr("; wrong=on was asked for: rejected"))
      << "the reason of the exit code";
  trials_.settings = {{"wrong=on", {1.5}}};
  EXPECT_EQ(outcome_code(run()), 1);
  trials_.settings = {{"wrong=on", {0.5}}};
  EXPECT_EQ(outcome_code(run()), 0);
}

TEST_F(SearchTest, of_several_values_of_a_named_setting_one_is_enough) {
  proposals_ = {proposal("batch", "64", 2, true), proposal("batch", "128", 2, true)};
  trials_.settings = {{"batch=64", {0.5}}, {"batch=128", {0.9, "ran out of memory"}}};
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "batch").outcome, TrialOutcome::kept);
  EXPECT_EQ(outcome_code(optimization), 0);
}

TEST_F(SearchTest, a_failure_is_an_outcome_and_the_search_goes_on) {
  proposals_ = {proposal("breaks", "on", 4), proposal("good", "on", 2)};
  trials_.settings = {{"breaks=on", {0.1, "ran out of memory"}}, {"good=on", {0.5}}};
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "breaks").outcome, TrialOutcome::failed);
  EXPECT_EQ(step(optimization, "breaks").reason, "ran out of memory");
  ASSERT_EQ(optimization.plan.size(), 1u);
  EXPECT_EQ(optimization.plan.front().first, "good");
}

TEST_F(SearchTest, drops_a_setting_that_gains_nothing_next_to_the_others) {
  proposals_ = {proposal("first", "on", 4), proposal("second", "on", 2)};
  trials_.settings = {{"first=on", {0.8}}, {"second=on", {0.5}}};
  trials_.together = {{"first=on+second=on", 1.25}};  // the second does what the first does
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "first").outcome, TrialOutcome::no_gain);
  ASSERT_EQ(optimization.plan.size(), 1u);
  EXPECT_EQ(optimization.plan.front().first, "second");
}

TEST_F(SearchTest, a_last_test_on_a_disturbed_machine_proves_nothing_and_is_reported_so) {
  proposals_ = {bundled("good", 2)};
  trials_.settings = {{"good=on", {0.5}}};
  trials_.disturbed = "the GPU was throttled in one of them";
  const auto optimization = run();
  ASSERT_EQ(optimization.plan.size(), 1u);
  EXPECT_EQ(optimization.unreliable, "the GPU was throttled in one of them");
  EXPECT_FALSE(optimization.measured_speedup);
  EXPECT_NE(optimization.verdict.find("unreliable"), std::string::npos) << optimization.verdict;
  EXPECT_FALSE(optimization.optimized);
  EXPECT_EQ(outcome_code(optimization), 5);
}

TEST_F(SearchTest, reports_the_fresh_confirmation_and_not_the_pairs_that_selected) {
  proposals_ = {proposal("first", "on", 4), proposal("second", "on", 2)};
  trials_.settings = {{"first=on", {0.5}}, {"second=on", {0.8}}};
  trials_.together = {{"first=on+second=on", 0.9}};
  const auto optimization = run();
  EXPECT_NEAR(step(optimization, "first").found->ratio, 2, 1e-9);
  EXPECT_NEAR(step(optimization, "first").measured->ratio, 2 / 0.9, 1e-9);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 1 / (0.5 * 0.8 * 0.9), 1e-9);
}

TEST_F(SearchTest, nothing_to_gain_is_a_success_without_a_plan) {
  proposals_ = {proposal("noop", "on", 1.5), proposal("small", "on", 1.001)};
  const auto optimization = run();
  EXPECT_TRUE(optimization.plan.empty());
  EXPECT_FALSE(optimization.measured_speedup);
  EXPECT_EQ(optimization.steps.size(), 1u) << "what is predicted to gain less than matters is not tried";
  EXPECT_EQ(outcome_code(optimization), 0);
}

TEST_F(SearchTest, stops_where_it_is_interrupted) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 2)};
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.5}}};
  trials_.stop_after = 1;
  const auto optimization = run();
  EXPECT_FALSE(optimization.complete);
  EXPECT_EQ(outcome_code(optimization), 3);
}

TEST_F(SearchTest, keeps_what_the_first_pairs_showed_where_no_time_is_left_to_repeat_them) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 2)};
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.5}}};
  for (const int asked : {3, 5}) {  // before "b", and after it
    trials_.asked.clear();
    trials_.stop_after = asked;
    const auto optimization = run();
    EXPECT_FALSE(optimization.complete);
    const bool both = asked == 5;  // "b" was compared with "a" in fresh processes, as "a" with the original
    ASSERT_EQ(optimization.plan.size(), both ? 2U : 1U);
    EXPECT_EQ(optimization.plan.front().first, "a");
    ASSERT_TRUE(optimization.measured_speedup);
    EXPECT_NEAR(optimization.measured_speedup->ratio, both ? 4 : 2, 1e-9);
    EXPECT_EQ(outcome_code(optimization), 0) << "as for every search that is interrupted after a proof";
  }
}

TEST_F(SearchTest, values_that_grow_end_where_memory_does) {
  for (const char* value : {"64", "128", "256", "512", "1024"}) {
    proposals_.push_back(proposal("batch", value, 4 - std::atof(value) / 1000, true));
    proposals_.back().until_memory_ends = true;
  }
  trials_.settings = {{"batch=64", {0.8}}, {"batch=128", {0.6}}, {"batch=256", {0.5, "ran out of memory"}}};
  auto optimization = run();
  EXPECT_EQ(optimization.steps.size(), 3u) << "512 cannot fit where 256 does not";
  ASSERT_EQ(optimization.plan.size(), 1u);
  EXPECT_EQ(optimization.plan.front().second, "128");
  trials_.settings = {{"batch=64", {0.8}}, {"batch=128", {0.9}}, {"batch=256", {0.9}}, {"batch=512", {0.1}}};
  optimization = run();
  EXPECT_EQ(optimization.steps.size(), 3u) << "two that gained nothing are enough";
}

TEST_F(SearchTest, rejects_what_is_faster_and_worse_by_the_users_evaluation) {
  proposals_ = {proposal("worse", "on", 4, true), proposal("good", "on", 2)};
  trials_.settings = {{"worse=on", {0.5}}, {"good=on", {0.5}}};
  trials_.worse_quality = "worse=on";
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "worse").outcome, TrialOutcome::rejected);
  EXPECT_EQ(step(optimization, "worse").reason, "top1 is lower");
  EXPECT_EQ(step(optimization, "good").outcome, TrialOutcome::kept);
  EXPECT_EQ(outcome_code(optimization), 4);
}

TEST_F(SearchTest, what_was_kept_before_widens_how_answers_are_judged) {
  proposals_ = {proposal("bits", "16", 4), proposal("pinned", "on", 3)};
  proposals_[0].numerics = Numerics::precision;
  proposals_[1].numerics = Numerics::exact;
  trials_.settings = {{"bits=16", {0.5}}, {"pinned=on", {0.5}}};
  const auto optimization = run();
  EXPECT_EQ(optimization.plan.size(), 2u);
  const auto& both = trials_.judged_by.at("bits=16 pinned=on");
  EXPECT_TRUE(both.has(Numerics::precision));
  EXPECT_TRUE(both.has(Numerics::exact));
  EXPECT_FALSE(both.has(Numerics::rounding));
}

TEST_F(SearchTest, proves_what_was_found_where_the_budget_runs_short) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 3), proposal("c", "on", 2)};
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.5}}, {"c=on", {0.5}}};
  trials_.seconds_left = 35;  // a, b, and their proof
  const auto optimization = run();
  EXPECT_FALSE(optimization.complete);
  EXPECT_EQ(optimization.plan.size(), 2u);
  ASSERT_TRUE(optimization.measured_speedup);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 4, 1e-9);
  EXPECT_GE(trials_.seconds_left, 0);
  EXPECT_EQ(outcome_code(optimization), 0);
}

TEST_F(SearchTest, a_value_that_replaces_another_leaves_one_of_them_in_the_plan) {
  proposals_ = {proposal("batch", "64", 4), proposal("batch", "128", 3)};
  trials_.settings = {{"batch=64", {0.5}}, {"batch=128", {0.25}}};
  const auto optimization = run();
  ASSERT_EQ(optimization.plan.size(), 1u);
  EXPECT_EQ(optimization.plan.front().second, "128");
  EXPECT_NE(optimization.steps.front().reason.find("batch=128 is faster"), std::string::npos);
}

TEST_F(SearchTest, without_a_living_process_everything_gets_fresh_ones) {
  proposals_ = {bundled("a", 4), bundled("b", 3)};
  trials_.has_process = false;
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {1.1}}};
  const auto optimization = run();
  ASSERT_EQ(optimization.plan.size(), 1U);
  EXPECT_EQ(optimization.plan.front().first, "a");
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2, 1e-9);
}

TEST_F(SearchTest, of_a_setting_with_a_value_that_is_far_slower_no_other_is_tried) {
  proposals_ = {proposal("compile", "default", 3), proposal("compile", "autotune", 2.5), proposal("slow", "a", 1.4),
                proposal("slow", "b", 1.3)};
  trials_.settings = {{"compile=default", {5.7}}, {"slow=a", {1.2}}};
  const auto optimization = run();
  ASSERT_EQ(optimization.steps.size(), 3U) << "a little slower says nothing about other values";
  EXPECT_EQ(optimization.steps[0].value, "default");
  EXPECT_EQ(optimization.steps[2].value, "b");
}

TEST_F(SearchTest, asks_each_setting_once_and_ends) {
  for (int i = 0; i < 100; ++i) proposals_.push_back(proposal("knob" + std::to_string(i), "on", 2));
  const auto optimization = run();
  EXPECT_LE(optimization.steps.size(), 40u);
  EXPECT_TRUE(optimization.complete);
}

TEST(Prove, judges_a_plan_as_a_whole) {
  FakeTrials trials;
  trials.settings = {{"channels_last=on", {0.5}}};
  Optimization optimization;
  ASSERT_TRUE(prove(trials, {}, {{"channels_last", "on"}}, {}, optimization).ok());
  EXPECT_EQ(outcome_code(optimization), 0);
  trials.settings = {{"channels_last=on", {1.5}}};
  Optimization worse;
  ASSERT_TRUE(prove(trials, {}, {{"channels_last", "on"}}, {}, worse).ok());
  EXPECT_TRUE(worse.plan.empty());
  EXPECT_EQ(outcome_code(worse), 1);
}

}  // namespace
}  // namespace warpmark::optimize
