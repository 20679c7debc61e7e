// When the recorder records, and what it says that this cost.
#include "profile/module/schedule.h"

#include <gtest/gtest.h>

namespace warpmark::profile::module {
namespace {

TEST(Schedule, counts_beside_the_recording_and_tells_what_it_cost) {
  Schedule schedule({.delay_s = 5, .duration_s = 2});
  std::int64_t launches = 0;
  // 1000 launches a second, 800 while it is recorded.
  for (double t = 0; schedule.phase() != Phase::done && t < 20; t += 0.01) {
    schedule.advance(t, launches);
    launches += schedule.phase() == Phase::recording ? 8 : 10;
  }
  EXPECT_EQ(schedule.phase(), Phase::done);
  EXPECT_NEAR(schedule.rate(Phase::before), 1000, 20);
  EXPECT_NEAR(schedule.rate(Phase::recording), 800, 20);
  EXPECT_NEAR(schedule.inflation(), 0.25, 0.03);
}

TEST(Schedule, waits_for_the_delay) {
  Schedule schedule({.delay_s = 5, .duration_s = 2});
  EXPECT_EQ(schedule.advance(4.9, 100), Phase::waiting);
  EXPECT_EQ(schedule.advance(5.1, 100), Phase::before);
}

TEST(Schedule, without_a_duration_records_from_the_delay_to_the_end) {
  Schedule schedule({.delay_s = 0, .duration_s = 0});
  EXPECT_EQ(schedule.advance(0, 0), Phase::recording);
  EXPECT_EQ(schedule.advance(1e6, 100), Phase::recording);
  EXPECT_LT(schedule.inflation(), 0) << "there is nothing to compare with";
}

TEST(Schedule, does_not_tell_a_cost_from_a_few_launches) {
  Schedule schedule({.delay_s = 0, .duration_s = 1});
  for (double t = 0; t < 5; t += 0.01) schedule.advance(t, static_cast<std::int64_t>(t * 10));
  EXPECT_LT(schedule.inflation(), 0);
}

}  // namespace
}  // namespace warpmark::profile::module
