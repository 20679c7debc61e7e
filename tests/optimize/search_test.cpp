#include "optimize/search.h"
#include <gtest/gtest.h>
#include "optimize/outcome.h"

#include <algorithm>

#include "optimize/fake_trials.h"

namespace warpmark::optimize {
namespace {

Proposal proposal(const std::string& knob, const std::string& value, double high, bool asked = false) {
  return {.setting = {knob, value},
          .title = knob,
          .numerics = Numerics::rounding,
          .predicted = {.low = 1, .high = high, .method = "test"},
          .risk = 1,
          .asked = asked};
}

Proposal bundled(const std::string& knob, double high, bool asked = false) {
  auto one = proposal(knob, "on", high, asked);
  one.switchable = one.bundled = true;
  return one;
}

class SearchTest : public ::testing::Test {
 protected:
  Optimization run() {
    Optimization optimization;
    optimization.baseline.seconds_per_step = 1;
    SearchOptions options;
    options.propose = [this](const ProgramFacts&, const Settings&) { return proposals_; };
    options.log = [this](const std::string& text) { logged_.push_back(text); };
    EXPECT_TRUE(search(trials_, {}, options, optimization).ok());
    return optimization;
  }
  static const OptimizationStep& step(const Optimization& optimization, const std::string& knob) {
    for (const auto& step : optimization.steps) {
      if (step.knob == knob) return step;
    }
    ADD_FAILURE() << "no step of " << knob;
    return optimization.steps.front();
  }
  [[nodiscard]] auto asked(const std::string& text) const {
    return std::count(trials_.asked.begin(), trials_.asked.end(), text);
  }
  FakeTrials trials_;
  std::vector<Proposal> proposals_;
  std::vector<std::string> logged_;
};

/// Settings that the living process switches.
class BundleTest : public SearchTest {};

TEST_F(BundleTest, tests_all_at_once_and_proves_them_at_once) {
  proposals_ = {bundled("workers", 3), bundled("bf16", 2), bundled("fused", 1.1)};
  trials_.settings = {{"workers=on", {0.5}}, {"bf16=on", {0.8}}, {"fused=on", {0.9}}};
  const auto optimization = run();
  ASSERT_GE(trials_.asked.size(), 2U);
  EXPECT_EQ(trials_.asked[0], "within nothing changed | [workers=on bf16=on fused=on]");
  EXPECT_EQ(trials_.asked[1], "prove nothing changed | workers=on bf16=on fused=on");
  EXPECT_EQ(optimization.plan.size(), 3U);
  ASSERT_TRUE(optimization.measured_speedup);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 1 / 0.36, 1e-9);
  EXPECT_EQ(asked("record workers=on bf16=on fused=on"), 1);
  EXPECT_EQ(step(optimization, "bf16").kernels, "in 3 of 9 kernels");
  EXPECT_NEAR(step(optimization, "workers").in_process->ratio, 2, 1e-9) << "next to the others";
  EXPECT_NEAR(step(optimization, "fused").cumulative->ratio, 1 / 0.36, 1e-9);
  EXPECT_TRUE(std::ranges::any_of(logged_, [](const auto& text) { return text.starts_with("after "); }));
  EXPECT_EQ(outcome_code(optimization), 0);
}

TEST_F(BundleTest, compiles_in_no_other_mode_what_one_could_not_compile_and_tunes_nothing_that_gained_nothing) {
  proposals_ = {bundled("workers", 3), proposal("compile", "default", 2), proposal("compile", "reduce-overhead", 2),
                proposal("compile", "max-autotune-no-cudagraphs", 2)};
  for (auto& one : proposals_) one.switchable = true;
  trials_.settings = {{"workers=on", {0.5}}, {"compile=default", {1, "AssertionError"}}};
  auto optimization = run();
  EXPECT_EQ(asked("within workers=on | [workers=on compile=default]"), 1);
  EXPECT_FALSE(
      std::ranges::any_of(trials_.asked, [](const auto& text) { return text.find("reduce") != std::string::npos; }));
  EXPECT_EQ(step(optimization, "compile").outcome, TrialOutcome::failed);

  trials_ = {};
  trials_.settings = {{"workers=on", {0.5}}, {"compile=default", {1.2}}, {"compile=reduce-overhead", {1.2}}};
  optimization = run();
  EXPECT_EQ(asked("within workers=on | [workers=on compile=reduce-overhead]"), 1);
  EXPECT_FALSE(
      std::ranges::any_of(trials_.asked, [](const auto& text) { return text.find("autotune") != std::string::npos; }));
}

TEST_F(BundleTest, takes_out_what_gains_nothing_next_to_the_others_and_proves_the_rest) {
  proposals_ = {bundled("workers", 3), bundled("bf16", 2), bundled("idle", 1.1)};
  trials_.settings = {{"workers=on", {0.5}}, {"bf16=on", {0.8}}, {"idle=on", {1}}};
  const auto optimization = run();
  EXPECT_EQ(optimization.plan.size(), 2U);
  EXPECT_EQ(step(optimization, "idle").outcome, TrialOutcome::no_gain);
  EXPECT_EQ(asked("prove nothing changed | workers=on bf16=on"), 1) << "what is reported is what was proven";
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2.5, 1e-9);
}

TEST_F(BundleTest, leaves_out_the_part_that_changes_the_answers) {
  proposals_ = {bundled("workers", 3), bundled("wrong", 2)};
  trials_.settings = {{"workers=on", {0.5}}, {"wrong=on", {0.1, "", false}}};
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "wrong").outcome, TrialOutcome::rejected);
  ASSERT_EQ(optimization.plan.size(), 1U);
  EXPECT_EQ(optimization.plan.front().first, "workers");
  EXPECT_EQ(outcome_code(optimization), 0) << "nobody asked for it";
}

TEST_F(BundleTest, leaves_out_the_part_that_fails_and_the_one_that_is_slower) {
  proposals_ = {bundled("workers", 3), bundled("breaks", 2), bundled("slow", 1.5)};
  trials_.settings = {{"workers=on", {0.5}}, {"breaks=on", {0.1, "ran out of memory"}}, {"slow=on", {3}}};
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "breaks").outcome, TrialOutcome::failed);
  EXPECT_EQ(step(optimization, "slow").outcome, TrialOutcome::slower);
  ASSERT_EQ(optimization.plan.size(), 1U);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2, 1e-9);
}

TEST_F(BundleTest, a_part_that_has_nothing_to_change_costs_no_run) {
  proposals_ = {bundled("sdpa", 3), bundled("bf16", 2)};
  trials_.settings = {{"sdpa=on", {1, "", true, 0, "no eager attention"}}, {"bf16=on", {0.5}}};
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "sdpa").outcome, TrialOutcome::failed);
  EXPECT_EQ(asked("prove nothing changed | bf16=on"), 1);
  EXPECT_EQ(optimization.plan.size(), 1U);
}

TEST_F(BundleTest, what_fresh_processes_do_not_confirm_is_no_gain) {
  proposals_ = {bundled("odd", 3)};
  trials_.settings = {{"odd=on", {1.0, "", true, 0.5}}};
  const auto optimization = run();
  EXPECT_TRUE(optimization.plan.empty());
  EXPECT_FALSE(optimization.measured_speedup);
  EXPECT_EQ(step(optimization, "odd").outcome, TrialOutcome::no_gain);
  EXPECT_EQ(outcome_code(optimization), 0);
}

TEST_F(BundleTest, what_fails_in_fresh_processes_goes_and_the_rest_is_proven) {
  proposals_ = {bundled("workers", 3), bundled("bits", 2)};
  proposals_[1].numerics = Numerics::precision;
  trials_.settings = {{"workers=on", {0.5}}, {"bits=on", {0.5}}};
  trials_.worse_quality = "bits=on";
  const auto optimization = run();
  EXPECT_EQ(step(optimization, "bits").outcome, TrialOutcome::rejected);
  EXPECT_EQ(step(optimization, "bits").reason, "top1 is lower");
  ASSERT_EQ(optimization.plan.size(), 1U);
  EXPECT_EQ(optimization.plan.front().first, "workers");
}

TEST_F(BundleTest, improves_what_is_proven_and_proves_it_again) {
  proposals_ = {bundled("workers", 3), proposal("compile", "default", 2)};
  proposals_[1].switchable = true;
  trials_.settings = {{"workers=on", {0.5}}, {"compile=default", {0.5}}};
  const auto optimization = run();
  EXPECT_EQ(asked("prove nothing changed | workers=on"), 1) << "first, as compiling takes its time";
  EXPECT_EQ(asked("prove nothing changed | workers=on compile=default"), 1);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 4, 1e-9);
}

TEST_F(BundleTest, a_budget_that_ends_leaves_what_was_proven) {
  proposals_ = {bundled("workers", 3), proposal("compile", "default", 2)};
  proposals_[1].switchable = true;
  trials_.settings = {{"workers=on", {0.5}}, {"compile=default", {0.5}}};
  trials_.seconds_left = 18;  // one test in the living process, one in fresh ones
  const auto optimization = run();
  EXPECT_FALSE(optimization.complete);
  ASSERT_EQ(optimization.plan.size(), 1U);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2, 1e-9);
  EXPECT_EQ(outcome_code(optimization), 0);
}

TEST_F(BundleTest, what_is_not_proven_in_time_is_reported_as_likely) {
  proposals_ = {bundled("workers", 3)};
  trials_.settings = {{"workers=on", {0.5}}};
  trials_.stop_after = 1;
  const auto optimization = run();
  EXPECT_FALSE(optimization.measured_speedup);
  ASSERT_TRUE(optimization.likely_speedup);
  EXPECT_NEAR(optimization.likely_speedup->ratio, 2, 1e-9);
  EXPECT_NE(optimization.verdict.find("not proven"), std::string::npos) << optimization.verdict;
  EXPECT_EQ(outcome_code(optimization), 3);
}

/// Settings that need processes of their own.
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
  EXPECT_EQ(outcome_code(run()), 4);
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
  EXPECT_NE(optimization.steps.front().reason.find("replaced by batch=128"), std::string::npos);
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
