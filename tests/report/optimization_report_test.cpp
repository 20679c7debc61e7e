#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "report/build/optimization.h"
#include "report/formats/html.h"
#include "report/formats/markdown.h"
#include "report/formats/text.h"
#include "support/schema_check.h"

namespace warpmark::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const TechniquePrior kPrior{.bottleneck = "precision",
                            .programs = 80,
                            .median = 3.08,
                            .low = 2.02,
                            .high = 4.5,
                            .guide_low = 1.4,
                            .guide_high = 1.8,
                            .source = "results/gains.csv"};

Optimization optimization() {
  Optimization optimization{.program = "train.py", .unit = "sample"};
  optimization.build.version = "0.1.0";
  optimization.baseline = {.seconds_per_step = 0.02,
                           .samples_per_s = 1600,
                           .steps = 50,
                           .memory_bytes = 4e9,
                           .gpu_utilization = 0.62,
                           .joules_per_step = 7.25,
                           .phases = {{"data", 0.1}, {"forward", 0.9}}};
  optimization.plan = {{"precision.autocast", "bf16"}};
  optimization.steps = {{.knob = "precision.autocast",
                         .value = "bf16",
                         .numerics = "precision",
                         .outcome = TrialOutcome::kept,
                         .kernels = "in 12 of 40 kernels, as sm90_gemm_bf16",
                         .prior = kPrior,
                         .in_process = SpeedUp{1.7, 1.6, 1.8},
                         .measured = SpeedUp{1.5, 1.4, 1.6},
                         .runs = 14},
                        {.knob = "tf32",
                         .value = "1",
                         .numerics = "precision",
                         .outcome = TrialOutcome::slower,
                         .prior = kPrior,
                         .in_process = SpeedUp{0.999, 0.995, 1.003}}};
  return optimization;
}

TEST(OptimizationReport, has_the_speedup_of_the_whole_run_where_evaluation_takes_a_part_of_it) {
  auto all = optimization();
  all.measured_speedup = SpeedUp{2, 1.9, 2.1};
  all.baseline.evaluation_share = 0.04;
  EXPECT_THAT(render_markdown(build_report(all)), Not(HasSubstr("Whole-run")));
  all.baseline.evaluation_share = 0.5;
  EXPECT_THAT(render_markdown(build_report(all)), HasSubstr("Whole-run speedup: 1.33x"));
}

TEST(OptimizationReport, has_what_techniques_gained_elsewhere_in_every_format) {
  const auto report = build_report(optimization());
  for (const auto& text : {render_markdown(report), render_html(report)}) {
    EXPECT_THAT(text, HasSubstr("3.1x"));
    EXPECT_THAT(text, HasSubstr("2x-4.5x"));
    EXPECT_THAT(text, HasSubstr("1.4x-1.8x"));
    EXPECT_THAT(text, HasSubstr("results/gains.csv"));
    EXPECT_THAT(text,
                ::testing::AnyOf(HasSubstr("precision.autocast, tf32"), HasSubstr("precision.<wbr/>autocast, tf32")));
  }
  const Json json = to_json(optimization());
  EXPECT_EQ(json["steps"][0]["prior"]["median"], 3.08);
  EXPECT_EQ(json["steps"][0]["prior"]["programs"], 80);
  EXPECT_EQ(json["steps"][0]["in_process"]["ratio"], 1.7);
}

TEST(OptimizationReport, names_the_kernels_in_which_a_knob_showed) {
  EXPECT_THAT(render_text(build_report(optimization()), {.width = 200}), HasSubstr("in 12 of 40 kernels"));
  const Json json = to_json(optimization());
  EXPECT_EQ(json["steps"][0]["kernels"], "in 12 of 40 kernels, as sm90_gemm_bf16");
  EXPECT_FALSE(json["steps"][1].contains("kernels"));
  EXPECT_EQ(testing_support::schema_errors(json, "optimization.schema.json"), "");
}

TEST(OptimizationReport, shows_what_the_gpu_did_in_the_baseline) {
  const auto text = render_text(build_report(optimization()), {.width = 120});
  EXPECT_THAT(text, HasSubstr("GPU busy"));
  EXPECT_THAT(text, HasSubstr("62"));
  EXPECT_THAT(text, HasSubstr("7.25 J"));
  EXPECT_EQ(to_json(optimization())["baseline"]["joules_per_step"], 7.25);
  auto without = optimization();
  without.baseline.gpu_utilization.reset();
  without.baseline.joules_per_step.reset();
  EXPECT_THAT(render_text(build_report(without), {.width = 120}), Not(HasSubstr("GPU busy")));
}

TEST(OptimizationReport, has_a_waterfall_from_the_original_over_what_was_kept_to_what_was_measured) {
  auto kept = optimization();
  kept.steps[0].cumulative = SpeedUp{1.6, 1.5, 1.7};
  kept.baseline.seconds_per_step = 0.02;
  kept.optimized = kept.baseline;
  kept.optimized->seconds_per_step = 0.0125;
  kept.times_original_s = {0.01, 0.0105, 0.0095};  // per sample
  kept.times_optimized_s = {0.00625};
  const auto waterfall = waterfall_of(kept);
  ASSERT_EQ(waterfall.bars.size(), 3U) << "what was no faster has no bar";
  EXPECT_EQ(waterfall.bars[0].name, "original");
  EXPECT_DOUBLE_EQ(waterfall.bars[0].to, 0.02);
  EXPECT_EQ(waterfall.bars[1].name, "precision.autocast=bf16");
  EXPECT_DOUBLE_EQ(waterfall.bars[1].from, 0.02);
  EXPECT_DOUBLE_EQ(waterfall.bars[1].to, 0.02 / 1.6);
  EXPECT_DOUBLE_EQ(waterfall.bars[2].to, 0.0125) << "the same time as in the table of states";
  EXPECT_THAT(render_text(build_report(kept), {.width = 120}), HasSubstr("with                     time per step"));
}

TEST(OptimizationReport, tells_what_is_not_proven_what_it_cost_and_what_was_saved) {
  auto whole = optimization();
  whole.advice = {{.where = "train.py:57",
                   .text = ".item() reads a value once a step.",
                   .code = "if step % 50 == 0: print(loss.item())",
                   .predicted = Prediction{1.1, 1.3, "replay"}}};
  whole.spent_s = 1800;
  whole.runs = 40;
  whole.price_per_hour = 2.5;
  whole.measured_speedup = SpeedUp{1.5, 1.4, 1.6};
  whole.optimized = whole.baseline;
  whole.optimized->memory_bytes = 3e9;
  whole.steps[0].cumulative = SpeedUp{1.5, 1.4, 1.6};
  const auto text = render_text(build_report(whole), {.width = 120});
  EXPECT_THAT(text,
              HasSubstr("train.py:57: .item() reads a value once a step. Estimated speedup 1.10x-1.30x (not proven)"));
  EXPECT_THAT(text, HasSubstr("2.5 per hour: 1.25"));
  EXPECT_THAT(text, HasSubstr("breaks even after 1 h 30 min"));
  EXPECT_THAT(text, HasSubstr("Speedup 1.5x, memory saved 954 MiB"));
  const Json json = to_json(whole);
  EXPECT_DOUBLE_EQ(json["memory_saved"].get<double>(), 1e9);
  EXPECT_DOUBLE_EQ(json["steps"][0]["cumulative"]["ratio"].get<double>(), 1.5);
}

TEST(OptimizationReport, fresh_processes_count_before_blocks_in_one_process) {
  const auto text = render_text(build_report(optimization()), {.width = 120});
  EXPECT_THAT(text, HasSubstr("0.999x"));
  EXPECT_THAT(text, HasSubstr("1.5x [1.4, 1.6]"));
  EXPECT_THAT(text, Not(HasSubstr("1.7x [1.6")));
}

TEST(OptimizationReport, days_and_cost_of_a_training_and_the_goal) {
  auto whole = optimization();
  whole.train_steps = 864'000;
  whole.price_per_hour = 10;
  whole.goal = {.speedup = 3, .days = 1, .cost = 1000};
  whole.measured_speedup = SpeedUp{2, 1.9, 2.1};
  whole.optimized = whole.baseline;
  whole.optimized->seconds_per_step = 0.01;
  const auto text = render_text(build_report(whole), {.width = 120});
  EXPECT_THAT(text, HasSubstr("0.2 days"));
  EXPECT_THAT(text, HasSubstr("0.1 days"));
  EXPECT_THAT(text, HasSubstr("Goal not met: 2x of 3x; 0.1 days (limit: 1); costs 24 (limit: 1000)"));
  const Json json = to_json(whole);
  EXPECT_DOUBLE_EQ(json["training"]["original"]["days"].get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(json["training"]["optimized"]["cost"].get<double>(), 24);
  EXPECT_FALSE(json["goal"]["met"].get<bool>());
  EXPECT_EQ(testing_support::schema_errors(json, "optimization.schema.json"), "");
}

}  // namespace
}  // namespace warpmark::report
