// The stages of a search in the living process of the program.
#include "optimize/plan.h"
#include "optimize/search_fixture.h"

namespace warpmark::optimize {
namespace {

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

TEST_F(BundleTest, settings_of_a_loader_that_steps_hardly_wait_for_come_after_the_bundle) {
  proposals_ = {bundled("loader.pin_memory", 1.2), bundled("bf16", 2)};
  trials_.settings = {{"loader.pin_memory=on", {0.9}}, {"bf16=on", {0.5}}};
  const auto optimization = run();
  ASSERT_GE(trials_.asked.size(), 2U);
  EXPECT_EQ(trials_.asked[0], "within nothing changed | [bf16=on]");
  EXPECT_EQ(trials_.asked[1], "prove nothing changed | bf16=on");
  EXPECT_NEAR(optimization.measured_speedup->ratio, 1 / 0.45, 1e-9) << "and are tried";
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

  trials_ = {};
  proposals_[2].predicted.high = 4;  // graphs first: what breaks them may compile all the same
  trials_.settings = {{"workers=on", {0.5}},
                      {"compile=reduce-overhead", {1, "overwritten by a subsequent run"}},
                      {"compile=default", {0.5}}};
  optimization = run();
  EXPECT_EQ(asked("within workers=on | [workers=on compile=default]"), 1);

  trials_ = {};
  trials_.settings = {{"workers=on", {0.5}}};
  trials_.seconds_left = 15;  // not enough to compile
  optimization = run();
  const auto untried = [](const auto& one) { return one.knob == "compile" && one.outcome == TrialOutcome::undecided; };
  EXPECT_EQ(std::ranges::count_if(optimization.steps, untried), 3) << "nothing is known of any";
}

TEST_F(BundleTest, compiles_before_single_settings_where_the_bundle_gains_nothing) {
  proposals_ = {bundled("bf16", 2), bundled("tf32", 1.2), bundled("freeze", 1.1), proposal("compile", "default", 1.5)};
  proposals_[2].bundled = false;
  proposals_[3].switchable = true;
  for (const double bf16 : {1.5, 1.0}) {
    trials_ = {};
    trials_.settings = {{"bf16=on", {bf16}}, {"compile=default", {0.5}}};
    trials_.seconds_left = 40;  // enough to compile, and for no proof
    const auto optimization = run();
    ASSERT_GE(trials_.asked.size(), 2U);
    EXPECT_EQ(trials_.asked[0], "within nothing changed | [bf16=on tf32=on]");
    EXPECT_EQ(trials_.asked[1], "within nothing changed | [compile=default]");
  }
}

TEST_F(BundleTest, proves_what_compiling_gained_before_it_tests_the_parts_of_a_slower_bundle) {
  proposals_ = {bundled("bf16", 2), bundled("tf32", 1.2), proposal("compile", "default", 1.5)};
  proposals_[2].switchable = true;
  trials_.settings = {{"bf16=on", {1.5}}, {"compile=default", {0.5}}};
  const auto optimization = run();
  ASSERT_GE(trials_.asked.size(), 3U);
  EXPECT_EQ(trials_.asked[2], "prove nothing changed | compile=default");
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2, 1e-9);
}

TEST_F(BundleTest, tests_no_more_than_there_is_time_for_and_lists_the_rest) {
  proposals_ = {bundled("bf16", 2), bundled("tf32", 1.5), bundled("fused", 1.3), bundled("loader.pin_memory", 1.2)};
  trials_.variant_s = 8;
  trials_.seconds_left = 34;
  const auto optimization = run();
  EXPECT_EQ(asked("within nothing changed | [bf16=on] [tf32=on]"), 1) << "with a proof";
  EXPECT_TRUE(std::ranges::count(logged_, "testing bf16=on, tf32=on: about 16 s"));
  EXPECT_FALSE(optimization.complete);
  EXPECT_EQ(step(optimization, "loader.pin_memory").outcome, TrialOutcome::undecided);
  EXPECT_EQ(step(optimization, "loader.pin_memory").reason, "not tested: the rest of the budget is too short");
}

TEST_F(BundleTest, tests_settings_of_a_loader_apart_and_last_where_steps_hardly_wait) {
  proposals_ = {bundled("loader.pin_memory", 1.5), bundled("freeze", 1.1)};
  proposals_[1].bundled = false;
  run();
  ASSERT_EQ(trials_.asked.size(), 3U);
  EXPECT_EQ(trials_.asked[0], "within nothing changed | [freeze=on]");
  EXPECT_EQ(trials_.asked[1], "within nothing changed | [loader.pin_memory=on]");
}

TEST_F(BundleTest, compiles_in_no_other_mode_where_one_compiled_nothing) {
  proposals_ = {proposal("compile", "reduce-overhead", 4), proposal("compile", "default", 2)};
  for (auto& one : proposals_) one.switchable = true;
  trials_.settings = {{"compile=reduce-overhead", {1, "", true, 0, "nothing was compiled"}}};
  run();
  EXPECT_EQ(asked("within nothing changed | [compile=reduce-overhead]"), 1);
  EXPECT_EQ(asked("within nothing changed | [compile=default]"), 0);
}

TEST_F(BundleTest, compiles_in_what_is_too_short_to_prove_it_where_nothing_else_is_left_to_try) {
  proposals_ = {bundled("tf32", 1.2), proposal("compile", "default", 2)};
  proposals_[1].switchable = true;
  trials_.settings = {{"tf32=on", {1}}, {"compile=default", {0.5}}};
  trials_.seconds_left = 25;  // less than compiling and a test take
  const auto optimization = run();
  EXPECT_EQ(asked("within nothing changed | [compile=default]"), 1);
}

TEST_F(BundleTest, compiles_in_what_is_left_of_a_short_budget_where_nothing_else_is_left_to_try) {
  proposals_ = {bundled("workers", 3), proposal("compile", "default", 2), bundled("freeze", 1.1)};
  proposals_[1].switchable = true;
  proposals_[2].bundled = false;
  trials_.settings = {{"workers=on", {0.5}}, {"compile=default", {0.5}}, {"freeze=on", {1}}};
  trials_.seconds_left = 50;  // after the proof less than compiling and another proof take
  const auto optimization = run();
  const auto place = [&](const std::string& text) { return std::ranges::find(trials_.asked, text); };
  EXPECT_LT(place("within workers=on | [workers=on freeze=on]"), place("record nothing changed"));
  EXPECT_LT(place("record nothing changed"), place("within workers=on | [workers=on compile=default]"));
  EXPECT_NE(place("prove nothing changed | workers=on compile=default"), trials_.asked.end());
  EXPECT_NEAR(optimization.measured_speedup->ratio, 4, 1e-9);
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

TEST_F(BundleTest, keeps_the_faster_plan_where_fresh_processes_show_that_a_part_taken_out_had_gained) {
  proposals_ = {bundled("workers", 3), bundled("bf16", 2)};
  trials_.settings = {{"workers=on", {0.5}}, {"bf16=on", {0.8, "", true, 1.0}}};  // no gain in the living process
  const auto optimization = run();
  EXPECT_EQ(asked("prove nothing changed | workers=on"), 1);
  EXPECT_EQ(optimization.plan.size(), 2U);
  ASSERT_TRUE(optimization.measured_speedup);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 2.5, 1e-9);
  EXPECT_EQ(step(optimization, "bf16").outcome, TrialOutcome::kept);
  EXPECT_NE(step(optimization, "bf16").reason.find("proven"), std::string::npos) << step(optimization, "bf16").reason;
}

TEST_F(BundleTest, calls_nothing_faster_whose_interval_holds_1) {
  proposals_ = {bundled("workers", 3), bundled("fused", 1.1)};
  trials_.settings = {{"workers=on", {0.95}}, {"fused=on", {0.98}}};
  trials_.half_width = 0.2;
  trials_.stop_after = 2;
  const auto optimization = run();
  EXPECT_TRUE(optimization.plan.empty());
  EXPECT_FALSE(optimization.likely_speedup);
  EXPECT_EQ(optimization.verdict.find("faster in one process"), std::string::npos) << optimization.verdict;
}

TEST_F(BundleTest, takes_out_nothing_whose_gain_is_open) {
  proposals_ = {bundled("workers", 3), bundled("idle", 1.1)};
  trials_.settings = {{"workers=on", {0.5}}, {"idle=on", {1}}};
  trials_.half_width = 0.08;
  EXPECT_EQ(run().plan.size(), 2U);
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

TEST_F(BundleTest, does_not_compile_again_to_prune_where_the_budget_is_too_short) {
  proposals_ = {bundled("workers", 3), bundled("precision.autocast", 2), bundled("idle", 1.1),
                proposal("compile", "default", 2)};
  proposals_[3].switchable = true;
  trials_.settings = {
      {"workers=on", {0.5}}, {"precision.autocast=on", {0.5}}, {"idle=on", {1}}, {"compile=default", {0.5}}};
  trials_.compile_s = 120;
  trials_.seconds_left = 150;
  const auto optimization = run();
  EXPECT_EQ(asked("within workers=on precision.autocast=on idle=on compile=default | [precision.autocast=on idle=on "
                  "compile=default] [workers=on precision.autocast=on compile=default] [workers=on "
                  "precision.autocast=on idle=on]"),
            1);
  EXPECT_EQ(step(optimization, "idle").outcome, TrialOutcome::no_gain);
  EXPECT_EQ(step(optimization, "precision.autocast").outcome, TrialOutcome::kept);
  EXPECT_NEAR(optimization.measured_speedup->ratio, 8, 1e-9);
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

TEST_F(BundleTest, an_estimate_that_fresh_processes_do_not_confirm_is_no_headline) {
  proposals_ = {bundled("workers", 3)};
  trials_.settings = {{"workers=on", {1.0, "", true, 0.5}}};
  trials_.disturbed = "another process used the GPU";
  const auto optimization = run();
  EXPECT_FALSE(optimization.likely_speedup);
  EXPECT_EQ(optimization.verdict.find("faster"), std::string::npos) << optimization.verdict;
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

}  // namespace
}  // namespace warpmark::optimize
