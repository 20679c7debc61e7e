// Recordings of several hosts on one clock.
#include "warpmark/profiles/profile_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace warpmark::apps {
namespace {

using collectives::net::ClockOffset;
constexpr std::int64_t kSecond = 1'000'000'000;

RecordedRank recorded_rank(int rank, std::int64_t origin_ns, std::optional<ClockOffset> before,
                           std::optional<ClockOffset> after) {
  RecordedRank one{
      .rank = rank, .host = "node" + std::to_string(rank), .session = {}, .before = before, .after = after};
  one.session.ranks.emplace_back();
  one.session.ranks[0].origin_ns = origin_ns;
  CounterSeries load{.id = "host_load", .unit = "", .device = -1, .times = {origin_ns + 5}, .values = {0.5}};
  one.session.counters.push_back(std::move(load));
  return one;
}

std::string metadata_in(const Timeline& timeline, const std::string& key) {
  const auto found = std::ranges::find(timeline.metadata, key, &std::pair<std::string, std::string>::first);
  return found == timeline.metadata.end() ? "" : found->second;
}

TEST(JoinedRanks, are_moved_by_what_their_clocks_were_off_when_they_were_recorded) {
  std::vector<RecordedRank> ranks;
  ranks.push_back(recorded_rank(0, 100 * kSecond, ClockOffset{0, 10, 90 * kSecond}, ClockOffset{0, 10, 110 * kSecond}));
  // A clock three seconds behind, which drifts by 20 us a second: halfway it is 200 us further off.
  ranks.push_back(recorded_rank(1, 97 * kSecond, ClockOffset{3 * kSecond, 10, 87 * kSecond},
                                ClockOffset{3 * kSecond + 400'000, 30, 107 * kSecond}));
  const auto session = join_ranks(std::move(ranks), 2);
  ASSERT_EQ(session.ranks.size(), 2U);
  EXPECT_EQ(session.ranks[0].origin_ns, 100 * kSecond);
  EXPECT_EQ(session.ranks[1].origin_ns, 100 * kSecond + 200'000);
  EXPECT_EQ(session.ranks[1].rank, 1);
  EXPECT_EQ(session.ranks[1].host, "node1");
  EXPECT_EQ(session.ranks[1].world_size, 2);
  EXPECT_EQ(metadata_in(session.ranks[1], "clock_uncertainty_ns"), "30");
  EXPECT_TRUE(session.ranks[1].quality.empty()) << "that is drift";
  ASSERT_EQ(session.ranks[1].counters.size(), 1U);
  EXPECT_EQ(session.ranks[1].counters[0].times[0], 5) << "counters stay where they were in their rank";
  EXPECT_TRUE(session.counters.empty());
}

TEST(JoinedRanks, tell_of_a_clock_that_was_set_and_of_one_that_was_not_compared) {
  std::vector<RecordedRank> ranks;
  ranks.push_back(
      recorded_rank(0, 100 * kSecond, ClockOffset{0, 10, 90 * kSecond}, ClockOffset{kSecond, 10, 110 * kSecond}));
  ranks.push_back(recorded_rank(1, 97 * kSecond, std::nullopt, std::nullopt));
  const auto session = join_ranks(std::move(ranks), 2);
  ASSERT_EQ(session.ranks[0].quality.size(), 1U);
  EXPECT_EQ(session.ranks[0].quality[0].id, "clock_set");
  EXPECT_EQ(session.ranks[1].origin_ns, 97 * kSecond);
  EXPECT_EQ(metadata_in(session.ranks[1], "clock_offset_ns"), "");
}

}  // namespace
}  // namespace warpmark::apps
