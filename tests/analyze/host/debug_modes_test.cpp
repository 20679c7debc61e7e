// Modes for finding faults and ways of reading values that a recording shows by what the host waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/host/debug_modes.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::HasSubstr;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

void expect_first(const Analysis& analysis, const char* rule, double gain) {
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& first = analysis.findings.front();
  EXPECT_EQ(first.rule, rule);
  EXPECT_LE(first.gain.low, gain);
  EXPECT_GE(first.gain.high, 0.7 * gain);
}

DebugModes modes_of(const Timeline& timeline) { return find_debug_modes(timeline, list_work(timeline)); }

Timeline program_of_launches(bool blocking, std::int64_t dispatch_ns, std::int64_t kernel_ns) {
  return stepped(6, [=](TimelineScene& scene) {
    scene.launches_block = blocking;
    scene.dispatch_ns = dispatch_ns;
    for (int i = 0; i < 100; ++i) scene.launch(kTensorGemm, kernel_ns);
  });
}

TEST(DebugModes, synchronous_launches_keep_host_and_gpu_from_overlapping) {
  const Analysis analysis = of(program_of_launches(true, 8'000, 20'000));
  expect_first(analysis, "cpu_gpu_sync", (4.0 + 20 + 4 + 6) / 20);  // the GPU's pace without
  EXPECT_GT(analysis.findings.front().severity, 0.7);
  EXPECT_THAT(analysis.findings.front().title, HasSubstr("launch"));
  EXPECT_EQ(analysis.findings.front().recommendations.front().kind, AdviceKind::environment);
  EXPECT_THAT(analysis.findings.front().recommendations.front().snippet, HasSubstr("CUDA_LAUNCH_BLOCKING"));
}

TEST(DebugModes, without_synchronous_launches_the_host_sets_the_pace_if_it_is_slower) {
  const Analysis analysis = of(program_of_launches(true, 24'000, 20'000));
  const Finding* waits = find(analysis, "cpu_gpu_sync");
  ASSERT_NE(waits, nullptr);
  const double gain = (4.0 + 20 + 4 + 22) / 24;
  EXPECT_LE(waits->gain.low, gain);
  EXPECT_GE(waits->gain.high, 0.85 * gain);
}

TEST(DebugModes, launches_that_return_at_once_are_not_attributed) {
  EXPECT_TRUE(modes_of(program_of_launches(true, 8'000, 20'000)).launches_block);
  EXPECT_FALSE(modes_of(program_of_launches(false, 8'000, 2'000)).launches_block);
  const Analysis analysis = of(program_of_launches(false, 8'000, 20'000));
  EXPECT_EQ(find(analysis, "cpu_gpu_sync"), nullptr);
}

TEST(DebugModes, clocks_that_disagree_tell_nothing_of_launches) {
  Timeline timeline = program_of_launches(false, 8'000, 2'000);
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (timeline.events.kind[i] == EventKind::kernel) timeline.events.start[i] -= 20'000;
  }
  EXPECT_FALSE(modes_of(timeline).launches_block);
}

}  // namespace
}  // namespace warpmark::analyze
