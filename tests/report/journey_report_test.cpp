#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "report/build/journey.h"
#include "report/formats/html.h"
#include "report/formats/markdown.h"
#include "report/formats/text.h"

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

Journey journey() {
  Journey journey{.program = "train.py", .unit = "sample"};
  journey.baseline = {.seconds_per_step = 0.02,
                      .samples_per_s = 1600,
                      .steps = 50,
                      .memory_bytes = 4e9,
                      .gpu_utilization = 0.62,
                      .joules_per_step = 7.25,
                      .phases = {{"data", 0.1}, {"forward", 0.9}}};
  journey.steps = {{.knob = "precision.autocast",
                    .value = "bf16",
                    .outcome = TrialOutcome::kept,
                    .prior = kPrior,
                    .screened = SpeedUp{1.7, 1.6, 1.8},
                    .measured = SpeedUp{1.5, 1.4, 1.6},
                    .runs = 14},
                   {.knob = "tf32",
                    .value = "1",
                    .outcome = TrialOutcome::slower,
                    .prior = kPrior,
                    .screened = SpeedUp{0.999, 0.995, 1.003}}};
  return journey;
}

TEST(JourneyReport, has_what_techniques_gained_elsewhere_in_every_format) {
  const auto report = build_report(journey());
  for (const auto& text : {render_text(report, {.width = 120}), render_markdown(report), render_html(report)}) {
    EXPECT_THAT(text, HasSubstr("3.1x"));
    EXPECT_THAT(text, HasSubstr("2 to 4.5x"));
    EXPECT_THAT(text, HasSubstr("1.4 to 1.8x"));
    EXPECT_THAT(text, HasSubstr("results/gains.csv"));
    EXPECT_THAT(text, HasSubstr("precision.autocast, tf32"));
  }
  const Json json = to_json(journey());
  EXPECT_EQ(json["steps"][0]["prior"]["median"], 3.08);
  EXPECT_EQ(json["steps"][0]["prior"]["programs"], 80);
  EXPECT_EQ(json["steps"][0]["screened"]["ratio"], 1.7);
}

TEST(JourneyReport, shows_what_the_gpu_did_in_the_baseline) {
  const auto text = render_text(build_report(journey()), {.width = 120});
  EXPECT_THAT(text, HasSubstr("GPU busy"));
  EXPECT_THAT(text, HasSubstr("62"));
  EXPECT_THAT(text, HasSubstr("7.25 J"));
  EXPECT_EQ(to_json(journey())["baseline"]["joules_per_step"], 7.25);
  auto without = journey();
  without.baseline.gpu_utilization.reset();
  without.baseline.joules_per_step.reset();
  EXPECT_THAT(render_text(build_report(without), {.width = 120}), Not(HasSubstr("GPU busy")));
}

TEST(JourneyReport, what_screening_said_stands_for_a_measurement_only_where_there_was_none) {
  const auto text = render_text(build_report(journey()), {.width = 120});
  EXPECT_THAT(text, HasSubstr("0.999x"));
  EXPECT_THAT(text, HasSubstr("1.5x (1.4 to 1.6)"));
  EXPECT_THAT(text, Not(HasSubstr("1.7x (1.6")));
}

}  // namespace
}  // namespace warpmark::report
