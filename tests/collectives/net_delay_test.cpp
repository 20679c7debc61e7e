// What the network's tests tell of a path whose delay and losses are planted: by a relay, as few kernels of test
// machines have netem. A busy machine makes a path slower, never faster, so that limits from above are wide.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "collectives/net/clock.h"
#include "collectives/served.h"
#include "support/relay.h"

namespace warpmark::collectives::net {
namespace {

constexpr double kDelay = 0.02, kBothWays = 2 * kDelay, kBusyMachine = 0.15;

class Relayed : public Served {
 protected:
  void plant(double delay_s, double loss = 0, std::uint64_t seed = 1) {
    relay_ = std::make_unique<test::Relay>(test::RelayOptions{client_.server.port, delay_s, loss, seed});
    ASSERT_GT(relay_->port(), 0);
    client_.server = {test::Relay::kAddress, relay_->port()};
  }
  std::unique_ptr<test::Relay> relay_;
};

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

TEST_F(Relayed, round_trips_are_as_long_as_the_planted_delay) {
  plant(kDelay);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}}) {
    const auto result = measure_latency(client_, bytes, 20, 30);
    ASSERT_TRUE(result.ok()) << result.error().what;
    ASSERT_EQ(result->round_trips_s.size(), 20U);
    EXPECT_GE(least(result->round_trips_s), kBothWays) << bytes;
    EXPECT_LT(least(result->round_trips_s), kBothWays + kBusyMachine) << bytes;
  }
}

TEST_F(Relayed, datagrams_tell_exactly_the_planted_losses_and_the_delay) {
  constexpr int kCount = 200;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto server = client_.server;
    plant(kDelay, 0.1, seed);
    test::SeededDrops drops(seed, 0.1);
    int planted = 0;
    for (int i = 0; i < kCount; ++i) planted += drops.next() ? 1 : 0;
    ASSERT_GT(planted, 5);
    const auto result = measure_datagrams(client_, {.count = kCount, .interval_s = 0.002});
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_EQ(relay_->datagrams(), kCount);
    EXPECT_EQ(relay_->dropped(), planted);
    EXPECT_EQ(result->sent - static_cast<int>(result->round_trips_s.size()), planted) << "of seed " << seed;
    EXPECT_EQ(result->out_of_order, 0);
    EXPECT_GE(least(result->round_trips_s), kBothWays);
    EXPECT_LT(least(result->round_trips_s), kBothWays + kBusyMachine);
    client_.server = server;
  }
}

TEST_F(Relayed, all_datagrams_may_be_lost_or_none) {
  const auto server = client_.server;
  plant(0, 1);
  const auto none = measure_datagrams(client_, {.count = 20, .interval_s = 0.002});
  ASSERT_TRUE(none.ok()) << none.error().what;
  EXPECT_EQ(none->sent, 20);
  EXPECT_TRUE(none->round_trips_s.empty());
  client_.server = server;
  plant(0.001, 0);
  const auto all = measure_datagrams(client_, {.count = 20, .interval_s = 0.002, .bytes = 1472});
  ASSERT_TRUE(all.ok()) << all.error().what;
  EXPECT_EQ(all->round_trips_s.size(), 20U);
}

TEST_F(Relayed, throughput_counts_every_byte_over_a_path_with_a_delay) {
  plant(kDelay);
  for (const bool reverse : {false, true}) {
    const auto result = measure_throughput(client_, {.streams = 2, .seconds = 0.3, .reverse = reverse}, nullptr);
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_GT(result->bytes, 0);
    EXPECT_EQ(result->peer, test::Relay::kAddress);
    EXPECT_EQ(std::fmod(result->bytes, static_cast<double>(kBlockBytes)), 0) << "whole blocks, and all arrived";
  }
}

TEST_F(Relayed, clocks_are_no_surer_than_the_delay_allows) {
  plant(kDelay);
  const auto exchanges = exchange_clocks(client_, 5, monotonic_ns);
  ASSERT_TRUE(exchanges.ok()) << exchanges.error().what;
  const auto offset = estimate_offset(*exchanges);
  ASSERT_TRUE(offset);
  EXPECT_GE(offset->uncertainty_ns, static_cast<std::int64_t>(kDelay * 1e9));
  EXPECT_LE(std::abs(offset->offset_ns), offset->uncertainty_ns) << "both clocks are this machine's";
}

}  // namespace
}  // namespace warpmark::collectives::net
