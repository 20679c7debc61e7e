// What an analysis asks to be recorded for a sharper answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::TimelineScene;

/// Steps that take a batch of worker processes, each after `wait_ns`.
Analysis loaded_steps(int steps, std::int64_t wait_ns) {
  return testing_support::of(testing_support::stepped(steps, [wait_ns](TimelineScene& scene) {
    scene.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", wait_ns);
    for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000);
    scene.synchronize();
  }));
}

auto asks_for_an_empty_queue() {
  return testing::Contains(testing::Field(&MissingData::what, testing::HasSubstr("queue ran empty")));
}

TEST(Missing, steps_beyond_what_a_loader_had_ready) {
  EXPECT_THAT(loaded_steps(4, 20'000).missing, asks_for_an_empty_queue());
}

TEST(Missing, nothing_where_workers_kept_up_for_long) {
  EXPECT_THAT(loaded_steps(24, 20'000).missing, testing::Not(asks_for_an_empty_queue()));
}

TEST(Missing, nothing_where_the_program_waits_for_workers_anyway) {
  EXPECT_THAT(loaded_steps(4, 2'000'000).missing, testing::Not(asks_for_an_empty_queue()));
}

}  // namespace
}  // namespace warpmark::analyze
