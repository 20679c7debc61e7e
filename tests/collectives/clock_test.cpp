// Offsets of clocks by exchanged messages.
#include "collectives/net/clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace warpmark::collectives::net {
namespace {

TEST(ClockOffset, is_that_of_the_shortest_round_trip_and_within_its_half) {
  // A clock that is 250 ms behind, over a network whose ways differ and are at times congested.
  std::mt19937 random(7);
  std::exponential_distribution<double> delay(1.0 / 40'000);
  constexpr std::int64_t kOffset = 250'000'000;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<ClockExchange> exchanges;
    std::int64_t now = 1'000'000'000'000;
    for (int i = 0; i < 50; ++i) {
      const auto there = 8'000 + static_cast<std::int64_t>(delay(random));
      const auto back = 8'000 + static_cast<std::int64_t>(2 * delay(random));
      exchanges.push_back({now, now + there + kOffset, now + there + back});
      now += there + back;
    }
    const auto estimate = estimate_offset(exchanges);
    ASSERT_TRUE(estimate);
    EXPECT_LE(std::abs(estimate->offset_ns - kOffset), estimate->uncertainty_ns) << "by what is known, it must hold";
    EXPECT_LT(estimate->uncertainty_ns, 40'000);
  }
}

TEST(ClockOffset, of_nothing_or_of_a_clock_set_back_is_unknown) {
  EXPECT_FALSE(estimate_offset({}));
  const std::vector<ClockExchange> back{{100, 50, 20}};
  EXPECT_FALSE(estimate_offset(back));
}

TEST(ClockOffset, drifts_on_the_line_through_two_estimates) {
  const ClockOffset before{1'000, 10, 0}, after{3'000, 20, 1'000'000};
  EXPECT_EQ(offset_at(before, after, 500'000).offset_ns, 2'000);
  EXPECT_EQ(offset_at(before, after, 500'000).uncertainty_ns, 20);
  EXPECT_EQ(offset_at(before, std::nullopt, 500'000).offset_ns, 1'000);
}

}  // namespace
}  // namespace warpmark::collectives::net
