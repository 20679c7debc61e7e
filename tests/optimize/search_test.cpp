#include "optimize/search.h"
#include "optimize/outcome.h"

#include <gtest/gtest.h>

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

class SearchTest : public ::testing::Test {
 protected:
  Journey run() {
    Journey journey;
    journey.baseline.seconds_per_step = 1;
    SearchOptions options;
    options.propose = [this](const ProgramFacts&, const Settings&) { return proposals_; };
    EXPECT_TRUE(search(trials_, {}, options, journey).ok());
    return journey;
  }
  static const JourneyStep& step(const Journey& journey, const std::string& knob) {
    for (const auto& step : journey.steps) {
      if (step.knob == knob) return step;
    }
    ADD_FAILURE() << "no step of " << knob;
    return journey.steps.front();
  }
  FakeTrials trials_;
  std::vector<Proposal> proposals_;
};

TEST_F(SearchTest, keeps_what_is_faster_and_measures_it_together) {
  proposals_ = {proposal("workers", "4", 3), proposal("bf16", "on", 2), proposal("slow", "on", 1.5)};
  trials_.settings = {{"workers=4", {0.5}}, {"bf16=on", {0.8}}, {"slow=on", {1.4}}};
  const auto journey = run();
  EXPECT_EQ(journey.plan.size(), 2u);
  ASSERT_TRUE(journey.measured_speedup);
  EXPECT_NEAR(journey.measured_speedup->ratio, 2.5, 1e-9);
  EXPECT_NEAR(*journey.interaction, 1, 1e-9);
  EXPECT_EQ(step(journey, "slow").outcome, TrialOutcome::slower);
  EXPECT_EQ(outcome_code(journey), 0);
  ASSERT_TRUE(journey.optimized);
  EXPECT_NEAR(journey.optimized->seconds_per_step, 0.4, 1e-9);
}

TEST_F(SearchTest, tries_the_largest_foretold_gain_first) {
  proposals_ = {proposal("small", "on", 1.1), proposal("large", "on", 4)};
  const auto journey = run();
  EXPECT_EQ(journey.steps.front().knob, "large");
}

TEST_F(SearchTest, refuses_a_faster_setting_with_other_answers) {
  proposals_ = {proposal("wrong", "on", 2)};
  trials_.settings = {{"wrong=on", {0.1, "", false}}};
  const auto journey = run();
  EXPECT_EQ(step(journey, "wrong").outcome, TrialOutcome::rejected);
  EXPECT_TRUE(journey.plan.empty());
  EXPECT_EQ(outcome_code(journey), 0);  // nobody asked for it
}

TEST_F(SearchTest, exit_code_tells_what_became_of_a_named_knob) {
  proposals_ = {proposal("wrong", "on", 2, true)};
  trials_.settings = {{"wrong=on", {0.1, "", false}}};
  EXPECT_EQ(outcome_code(run()), 4);
  trials_.settings = {{"wrong=on", {1.5}}};
  EXPECT_EQ(outcome_code(run()), 1);
  trials_.settings = {{"wrong=on", {0.5}}};
  EXPECT_EQ(outcome_code(run()), 0);
}

TEST_F(SearchTest, of_several_values_of_a_named_knob_one_is_enough) {
  proposals_ = {proposal("batch", "64", 2, true), proposal("batch", "128", 2, true)};
  trials_.settings = {{"batch=64", {0.5}}, {"batch=128", {0.9, "ran out of memory"}}};
  const auto journey = run();
  EXPECT_EQ(step(journey, "batch").outcome, TrialOutcome::kept);
  EXPECT_EQ(outcome_code(journey), 0);
}

TEST_F(SearchTest, a_failure_is_an_outcome_and_the_search_goes_on) {
  proposals_ = {proposal("breaks", "on", 4), proposal("good", "on", 2)};
  trials_.settings = {{"breaks=on", {0.1, "ran out of memory"}}, {"good=on", {0.5}}};
  const auto journey = run();
  EXPECT_EQ(step(journey, "breaks").outcome, TrialOutcome::failed);
  EXPECT_EQ(step(journey, "breaks").reason, "ran out of memory");
  ASSERT_EQ(journey.plan.size(), 1u);
  EXPECT_EQ(journey.plan.front().first, "good");
}

TEST_F(SearchTest, drops_a_knob_that_gains_nothing_beside_the_others) {
  proposals_ = {proposal("first", "on", 4), proposal("second", "on", 2)};
  trials_.settings = {{"first=on", {0.8}}, {"second=on", {0.5}}};
  trials_.together = {{"first=on+second=on", 1.25}};  // the second does what the first does
  const auto journey = run();
  EXPECT_EQ(step(journey, "first").outcome, TrialOutcome::slower);
  ASSERT_EQ(journey.plan.size(), 1u);
  EXPECT_EQ(journey.plan.front().first, "second");
}

TEST_F(SearchTest, a_last_test_that_is_mistrusted_is_said_to_be_and_takes_nothing_back) {
  proposals_ = {proposal("good", "on", 2)};
  trials_.settings = {{"good=on", {0.5}}};
  trials_.disturbed = "the GPU was throttled in one arm";
  const auto journey = run();
  EXPECT_EQ(step(journey, "good").outcome, TrialOutcome::kept);
  ASSERT_EQ(journey.plan.size(), 1u);
  EXPECT_EQ(journey.mistrusted, "the GPU was throttled in one arm");
  EXPECT_FALSE(journey.measured_speedup) << "nothing is claimed";
  EXPECT_NE(journey.verdict.find("mistrusted"), std::string::npos) << journey.verdict;
  EXPECT_FALSE(journey.optimized);
  EXPECT_EQ(outcome_code(journey), 5);
}

TEST_F(SearchTest, reports_the_fresh_confirmation_and_not_the_round_that_chose) {
  proposals_ = {proposal("first", "on", 4), proposal("second", "on", 2)};
  trials_.settings = {{"first=on", {0.5}}, {"second=on", {0.8}}};
  trials_.together = {{"first=on+second=on", 0.9}};
  const auto journey = run();
  EXPECT_NEAR(step(journey, "first").found->ratio, 2, 1e-9);
  EXPECT_NEAR(step(journey, "first").measured->ratio, 2 / 0.9, 1e-9);
  EXPECT_NEAR(journey.measured_speedup->ratio, 1 / (0.5 * 0.8 * 0.9), 1e-9);
}

TEST_F(SearchTest, nothing_to_gain_is_a_success_without_a_plan) {
  proposals_ = {proposal("noop", "on", 1.5), proposal("hopeless", "on", 1.001)};
  const auto journey = run();
  EXPECT_TRUE(journey.plan.empty());
  EXPECT_FALSE(journey.measured_speedup);
  EXPECT_EQ(journey.steps.size(), 1u) << "what is foretold to gain less than matters is not tried";
  EXPECT_EQ(outcome_code(journey), 0);
}

TEST_F(SearchTest, stops_where_it_is_interrupted) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 2)};
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.5}}};
  trials_.stop_after = 2;
  const auto journey = run();
  EXPECT_FALSE(journey.complete);
  EXPECT_EQ(outcome_code(journey), 3);
}

TEST_F(SearchTest, looks_again_after_each_kept_step_and_logs_every_decision) {
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.5}}, {"c=on", {1.5}}};
  Journey journey;
  journey.baseline.seconds_per_step = 1;
  SearchOptions options;
  std::vector<std::string> seen, logged;
  options.propose = [&](const ProgramFacts& facts, const Settings&) {
    if (!facts.found.empty()) seen.push_back(facts.found.front().advice);
    return std::vector<Proposal>{proposal("a", "on", 4), proposal("b", "on", 3), proposal("c", "on", 2)};
  };
  options.log = [&](const std::string& text) { logged.push_back(text); };
  ASSERT_TRUE(search(trials_, {}, options, journey).ok());
  EXPECT_EQ(std::count(trials_.asked.begin(), trials_.asked.end(), "look a=on"), 1);
  EXPECT_EQ(std::count(trials_.asked.begin(), trials_.asked.end(), "look a=on b=on"), 1);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front(), "a=on");
  EXPECT_EQ(seen.back(), "a=on b=on") << "what is slower changes nothing";
  EXPECT_EQ(journey.decisions, logged);
  EXPECT_EQ(journey.steps.front().kernels, "in 3 of 9 kernels, as k_a") << "the recording bears it out";
  for (const char* said : {"a=on: kept", "b: recorded in 3 of 9 kernels, as k_b", "looked at a=on b=on", "c=on: slower",
                           "without a again", "the original"}) {
    EXPECT_TRUE(std::any_of(logged.begin(), logged.end(), [&](const auto& text) {
      return text.find(said) != std::string::npos;
    })) << said;
  }
}

TEST_F(SearchTest, values_that_grow_end_where_memory_does) {
  for (const char* value : {"64", "128", "256", "512", "1024"}) {
    proposals_.push_back(proposal("batch", value, 4 - std::atof(value) / 1000, true));
    proposals_.back().until_memory_ends = true;
  }
  trials_.settings = {{"batch=64", {0.8}}, {"batch=128", {0.6}}, {"batch=256", {0.5, "ran out of memory"}}};
  auto journey = run();
  EXPECT_EQ(journey.steps.size(), 3u) << "512 cannot fit where 256 does not";
  ASSERT_EQ(journey.plan.size(), 1u);
  EXPECT_EQ(journey.plan.front().second, "128");
  trials_.settings = {{"batch=64", {0.8}}, {"batch=128", {0.9}}, {"batch=256", {0.9}}, {"batch=512", {0.1}}};
  journey = run();
  EXPECT_EQ(journey.steps.size(), 3u) << "two that gained nothing are enough";
}

TEST_F(SearchTest, rejects_what_is_faster_and_worse_by_the_users_evaluation) {
  proposals_ = {proposal("worse", "on", 4, true), proposal("good", "on", 2)};
  trials_.settings = {{"worse=on", {0.5}}, {"good=on", {0.5}}};
  trials_.worse_quality = "worse=on";
  const auto journey = run();
  EXPECT_EQ(step(journey, "worse").outcome, TrialOutcome::rejected);
  EXPECT_EQ(step(journey, "worse").reason, "top1 is lower");
  EXPECT_EQ(step(journey, "good").outcome, TrialOutcome::kept);
  EXPECT_EQ(outcome_code(journey), 4);
}

TEST_F(SearchTest, what_was_kept_before_widens_how_answers_are_judged) {
  proposals_ = {proposal("bits", "16", 4), proposal("pinned", "on", 3)};
  proposals_[0].numerics = Numerics::precision;
  proposals_[1].numerics = Numerics::exact;
  trials_.settings = {{"bits=16", {0.5}}, {"pinned=on", {0.5}}};
  const auto journey = run();
  EXPECT_EQ(journey.plan.size(), 2u);
  const auto& both = trials_.judged_by.at("bits=16 pinned=on");
  EXPECT_TRUE(both.has(Numerics::precision));
  EXPECT_TRUE(both.has(Numerics::exact));
  EXPECT_FALSE(both.has(Numerics::rounding));
}

TEST_F(SearchTest, proves_what_was_found_where_the_budget_runs_short) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 3), proposal("c", "on", 2)};
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.5}}, {"c=on", {0.5}}};
  trials_.tests_left = 6;  // a, b, each of them left out, the last, for which two are kept
  const auto journey = run();
  EXPECT_FALSE(journey.complete);
  EXPECT_EQ(journey.plan.size(), 2u);
  ASSERT_TRUE(journey.measured_speedup);
  EXPECT_NEAR(journey.measured_speedup->ratio, 4, 1e-9);
  EXPECT_EQ(trials_.tests_left, 1u);
  EXPECT_EQ(outcome_code(journey), 0);
}

TEST_F(SearchTest, a_value_that_replaces_another_leaves_one_of_them_in_the_plan) {
  proposals_ = {proposal("batch", "64", 4), proposal("batch", "128", 3)};
  trials_.settings = {{"batch=64", {0.5}}, {"batch=128", {0.25}}};
  const auto journey = run();
  ASSERT_EQ(journey.plan.size(), 1u);
  EXPECT_EQ(journey.plan.front().second, "128");
  EXPECT_NE(journey.steps.front().reason.find("replaced by 128"), std::string::npos);
}

TEST_F(SearchTest, what_blocks_of_steps_discard_gets_no_process_of_its_own) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 3), proposal("c", "on", 2)};
  for (auto& one : proposals_) one.switchable = one.setting.knob != "c";
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {0.9}}, {"c=on", {0.8}}};
  trials_.within = {{"a=on", 2.0}, {"b=on", 1.0}};  // the second would gain: what is discarded is not tried
  const auto journey = run();
  EXPECT_EQ(trials_.asked.front(), "within nothing changed: a=on b=on") << "c cannot be switched";
  EXPECT_EQ(std::count(trials_.asked.begin(), trials_.asked.end(), "screen a=on b=on"), 0);
  EXPECT_EQ(step(journey, "a").outcome, TrialOutcome::kept);
  ASSERT_TRUE(step(journey, "a").screened);
  EXPECT_NEAR(step(journey, "a").screened->ratio, 2, 1e-9);
  EXPECT_EQ(step(journey, "b").outcome, TrialOutcome::slower);
  EXPECT_EQ(step(journey, "b").runs, 0);
  EXPECT_FALSE(step(journey, "b").measured) << "screening proves nothing";
  EXPECT_EQ(step(journey, "c").outcome, TrialOutcome::kept);
  EXPECT_TRUE(std::any_of(journey.decisions.begin(), journey.decisions.end(),
                          [](const auto& text) { return text.starts_with("screened b=on: discarded"); }));
}

TEST_F(SearchTest, blocks_of_steps_are_asked_again_beside_each_kept_knob_and_never_accept) {
  proposals_ = {proposal("a", "on", 4), proposal("b", "on", 3)};
  for (auto& one : proposals_) one.switchable = true;
  trials_.settings = {{"a=on", {0.5}}, {"b=on", {1.0}}};
  trials_.within = {{"a=on", 2.0}, {"b=on", 3.0}};  // looks good within a process, and is not
  const auto journey = run();
  EXPECT_EQ(step(journey, "b").outcome, TrialOutcome::slower);
  EXPECT_EQ(journey.plan.size(), 1U);
  EXPECT_EQ(journey.steps.front().knob, "b") << "what blocks showed orders the trials";
  proposals_.push_back(proposal("c", "on", 2));
  proposals_.back().switchable = true;
  trials_.within["c=on"] = 1.0;
  trials_.asked.clear();
  (void)run();
  EXPECT_EQ(std::count(trials_.asked.begin(), trials_.asked.end(), "within a=on: c=on"), 1);
}

TEST_F(SearchTest, what_the_user_names_is_not_screened) {
  proposals_ = {proposal("a", "on", 4, true)};
  proposals_.front().switchable = true;
  trials_.within = {{"a=on", 0.5}};
  const auto journey = run();
  EXPECT_GT(step(journey, "a").runs, 0);
}

TEST_F(SearchTest, of_a_knob_with_a_value_that_is_far_slower_no_other_is_tried) {
  proposals_ = {proposal("compile", "default", 3), proposal("compile", "autotune", 2.5), proposal("slow", "a", 1.4),
                proposal("slow", "b", 1.3)};
  trials_.settings = {{"compile=default", {5.7}}, {"slow=a", {1.2}}};
  const auto journey = run();
  ASSERT_EQ(journey.steps.size(), 3U) << "a little slower tells nothing of other values";
  EXPECT_EQ(journey.steps[0].value, "default");
  EXPECT_EQ(journey.steps[2].value, "b");
}

TEST_F(SearchTest, asks_each_setting_once_and_ends) {
  for (int i = 0; i < 100; ++i) proposals_.push_back(proposal("knob" + std::to_string(i), "on", 2));
  const auto journey = run();
  EXPECT_LE(journey.steps.size(), 40u);
  EXPECT_TRUE(journey.complete);
}

TEST(Prove, judges_a_plan_as_a_whole) {
  FakeTrials trials;
  trials.settings = {{"channels_last=on", {0.5}}};
  Journey journey;
  ASSERT_TRUE(prove(trials, {}, {{"channels_last", "on"}}, {}, journey).ok());
  EXPECT_EQ(outcome_code(journey), 0);
  trials.settings = {{"channels_last=on", {1.5}}};
  Journey worse;
  ASSERT_TRUE(prove(trials, {}, {{"channels_last", "on"}}, {}, worse).ok());
  EXPECT_TRUE(worse.plan.empty());
  EXPECT_EQ(outcome_code(worse), 1);
}

}  // namespace
}  // namespace warpmark::optimize
