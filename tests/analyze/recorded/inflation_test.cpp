// Step and idle times of a recording, corrected by what the recorder measured of its own cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/evidence/evidence.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::TimelineScene;

/// 20 steps of 100 short kernels whose launches bound the program: 12 us each, of which `recording_ns` is the
/// recorder's.
ProfileSession launch_bound(std::vector<std::pair<std::string, std::string>> facts, std::int64_t kernel_ns = 2'000,
                            const char* format = "warpmark") {
  TimelineScene scene;
  scene.timeline().format = format;
  scene.timeline().metadata = std::move(facts);
  scene.dispatch_ns = 12'000;
  for (int step = 0; step < 20; ++step) {
    scene.within("step " + std::to_string(step), EventKind::annotation, [&] {
      for (int i = 0; i < 100; ++i) scene.launch("kernel_" + std::to_string(i % 10), kernel_ns);
      scene.synchronize();
    });
  }
  ProfileSession session;
  session.ranks.push_back(scene.build());
  return session;
}

TEST(MeasuredInflation, is_taken_off_the_step_and_named_in_the_breakdown) {
  const auto session = launch_bound({{"inflation", "0.25"}, {"inflation_low", "0.2"}, {"inflation_high", "0.3"}});
  const Evidence evidence = gather_evidence(session);
  ASSERT_EQ(evidence.ranks.size(), 1U);
  const RankEvidence& rank = evidence.ranks[0];
  EXPECT_NEAR(rank.undisturbed_step_ns(), rank.step_ns() / 1.25, 0.03 * rank.step_ns());
  EXPECT_NEAR(rank.part_ns(Part::idle_profiler), 0.2 * rank.step_ns(), 0.03 * rank.step_ns());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kParts; ++i) sum += rank.breakdown.of(static_cast<Part>(i));
  EXPECT_EQ(sum, rank.steps.length()) << "the parts still sum to the step";
}

TEST(MeasuredInflation, of_nothing_takes_nothing_off) {
  const Evidence evidence = gather_evidence(launch_bound({{"inflation", "0.0"}}));
  EXPECT_EQ(evidence.ranks.at(0).part_ns(Part::idle_profiler), 0);
}

TEST(MeasuredInflation, goes_before_the_estimate_for_each_call) {
  const double estimated = gather_evidence(launch_bound({})).ranks.at(0).part_ns(Part::idle_profiler);
  const double measured =
      gather_evidence(launch_bound({{"inflation", "0.5"}})).ranks.at(0).part_ns(Part::idle_profiler);
  EXPECT_GT(estimated, 0);
  EXPECT_GT(measured, 2 * estimated);
}

/// Kernels of 9 us are launched every 12 us: the estimate is that without the profiler the GPU would be busy.
TEST(EstimatedInflation, that_alone_makes_a_program_healthy_is_named_as_an_assumption) {
  const std::string estimated = analyze(launch_bound({}, 9'000, "kineto")).verdict;
  EXPECT_THAT(estimated, testing::HasSubstr("No significant bottleneck"));
  EXPECT_THAT(estimated, testing::HasSubstr("This assumes that the profiler caused 2"));
  const std::string measured = analyze(launch_bound({{"inflation", "0.33"}}, 9'000)).verdict;
  EXPECT_THAT(measured, testing::Not(testing::HasSubstr("This assumes")));
}

TEST(MeasuredInflation, is_not_used_twice_nor_when_it_is_no_number) {
  const auto corrected = launch_bound({{"inflation", "0.25"}, {"warpmark_inflation_corrected", "1"}});
  EXPECT_FALSE(measured_inflation(corrected.ranks[0]));
  EXPECT_EQ(gather_evidence(corrected).ranks.at(0).part_ns(Part::idle_profiler), 0);
  for (const char* text : {"nan", "-1", "-inf"}) {
    EXPECT_FALSE(measured_inflation(launch_bound({{"inflation", text}}).ranks[0])) << text;
  }
}

}  // namespace
}  // namespace warpmark::analyze
