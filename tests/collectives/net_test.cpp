#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/files.h"
#include "base/json.h"
#include "collectives/net/live.h"
#include "collectives/net/pairs.h"
#include "collectives/served.h"
#include "support/fake_tree.h"

namespace warpmark::collectives::net {
namespace {

TEST_F(Served, throughput_counts_what_arrived_both_ways) {
  for (const bool reverse : {false, true}) {
    int ticks = 0;
    const auto result = measure_throughput(client_, {.streams = 2, .seconds = 0.4, .reverse = reverse},
                                           [&](const Second&) { ++ticks; });
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_GT(result->bytes, 0);
    EXPECT_GT(result->seconds, 0);
    EXPECT_EQ(result->stream_rates.size(), 2U);
    EXPECT_EQ(result->peer, "127.0.0.1");
    EXPECT_GE(ticks, 1);
  }
  EXPECT_EQ(interface_of("127.0.0.1"), "lo");
}

TEST_F(Served, round_trips_are_as_many_as_asked_for) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'000}}) {
    const auto result = measure_latency(client_, bytes, 50, 20);
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_EQ(result->round_trips_s.size(), 50U);
  }
}

TEST_F(Served, datagrams_come_back_on_the_loopback) {
  const auto result = measure_datagrams(client_, {.count = 20, .interval_s = 0.002});
  ASSERT_TRUE(result.ok()) << result.error().what;
  EXPECT_EQ(result->sent, 20);
  EXPECT_GE(result->round_trips_s.size(), 1U);
}

TEST_F(Served, blocks_and_datagrams_are_as_large_as_asked_for) {
  for (const bool reverse : {false, true}) {
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 20}) {
      const auto result =
          measure_throughput(client_, {.seconds = 0.1, .reverse = reverse, .block_bytes = bytes}, nullptr);
      ASSERT_TRUE(result.ok()) << result.error().what;
      EXPECT_EQ(result->block_bytes, bytes);
      EXPECT_EQ(std::fmod(result->bytes, static_cast<double>(bytes)), 0) << "whole blocks, and all arrived";
      EXPECT_GT(result->bytes, 0);
    }
  }
  for (const std::size_t bytes : {kDatagramBytes, std::size_t{1472}, kMostDatagramBytes}) {
    const auto result = measure_datagrams(client_, {.count = 20, .interval_s = 0.002, .bytes = bytes});
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_EQ(result->bytes, bytes);
    EXPECT_GE(result->round_trips_s.size(), 1U);
  }
  const auto refused = measure_throughput(client_, {.seconds = 0.1, .reverse = true, .block_bytes = 65 << 20}, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("64 MiB"), std::string::npos) << refused.error().what;
}

TEST_F(Served, a_wrong_token_is_refused) {
  client_.token = "guess";
  const auto result = measure_latency(client_, 1, 10, 5);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_NE(result.error().what.find("wrong token"), std::string::npos);
}

TEST_F(Served, noise_on_the_port_does_no_harm) {
  auto socket = connect_to(client_.server, 5);
  ASSERT_TRUE(socket.ok());
  EXPECT_TRUE(socket->send_all(std::string("GET / HTTP/1.1\r\n\r\n")).ok());
  auto other = connect_to(client_.server, 5);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->send_all(std::string("[1,2]\n")).ok());
  const auto result = measure_latency(client_, 1, 10, 5);
  EXPECT_TRUE(result.ok());
}

TEST(Connecting, to_nobody_says_what_to_do) {
  auto listener = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok());
  const int port = port_of(*listener);
  { const Socket gone = std::move(*listener); }
  const auto result = connect_to({"127.0.0.1", port}, 2);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().hint.find("net server"), std::string::npos);
}

TEST(Addresses, have_hosts_and_ports) {
  EXPECT_EQ(parse_address("node7", 5)->port, 5);
  EXPECT_EQ(parse_address("node7:80", 5)->port, 80);
  EXPECT_EQ(parse_address("[::1]:80", 5)->host, "::1");
  EXPECT_EQ(parse_address("::1", 5)->host, "::1");
  EXPECT_FALSE(parse_address("node7:", 5).ok());
  EXPECT_FALSE(parse_address("node7:port", 5).ok());
  EXPECT_FALSE(parse_address(":80", 5).ok());
}

TEST(Jitter, is_the_mean_difference_of_neighbours) {
  EXPECT_DOUBLE_EQ(jitter({1, 3, 2}), 1.5);
  EXPECT_DOUBLE_EQ(jitter({1}), 0);
}

TEST(Interfaces, are_read_and_compared) {
  const test::FakeTree tree;
  const auto& root = tree.root();
  const auto write_interface = [&](const std::string& received) {
    std::filesystem::create_directories(root / "eth9" / "statistics");
    EXPECT_TRUE(write_file(root / "eth9" / "mtu", "9000\n").ok());
    EXPECT_TRUE(write_file(root / "eth9" / "operstate", "up\n").ok());
    EXPECT_TRUE(write_file(root / "eth9" / "speed", "100000\n").ok());
    EXPECT_TRUE(write_file(root / "eth9" / "statistics" / "rx_bytes", received + "\n").ok());
  };
  write_interface("1000");
  const auto before = interfaces(root);
  write_interface("5000");
  const auto after = interfaces(root);
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ(before[0].mtu, 9000);
  EXPECT_DOUBLE_EQ(before[0].speed, 12.5e9);
  const auto traffic = traffic_between(before, after, 2);
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_DOUBLE_EQ(traffic[0].received, 2000);
  EXPECT_DOUBLE_EQ(traffic_between(after, before, 2)[0].received, 0) << "a counter that began anew";
}

Pairs pairs_of_hosts(int hosts, int slow, int late = -1) {
  Pairs pairs{{}, {}};
  for (int a = 0; a < hosts; ++a) {
    pairs.hosts.push_back(std::string(1, static_cast<char>('a' + a)));
    for (int b = a + 1; b < hosts; ++b) {
      const bool is_slow = a == slow || b == slow, is_late = a == late || b == late;
      pairs.results.push_back({a, b, is_late ? 9e-6 : 2e-6, is_slow ? 5e9 : 10e9});
    }
  }
  return pairs;
}

TEST(SlowHosts, are_those_whose_pairs_are_all_slow) {
  // From three hosts on, whose healthy ones have half of their pairs with the slow one.
  for (int hosts = 3; hosts <= 6; ++hosts) {
    EXPECT_TRUE(slow_hosts(pairs_of_hosts(hosts, -1)).empty());
    for (int bad = 0; bad < hosts; ++bad) {
      for (const auto& pairs : {pairs_of_hosts(hosts, bad), pairs_of_hosts(hosts, -1, bad)}) {
        const auto slow = slow_hosts(pairs);
        ASSERT_EQ(slow.size(), 1U) << hosts << " hosts";
        EXPECT_EQ(slow[0].rank, bad);
      }
    }
  }
  EXPECT_TRUE(slow_hosts(pairs_of_hosts(2, 1)).empty()) << "of two, neither can be told from the other";
  const auto again = pairs_from_json(to_json(pairs_of_hosts(4, 2)));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->results.size(), 6U);
  EXPECT_FALSE(pairs_from_json(Json{{"hosts", 3}}).ok());
}

/// A pair is as slow as its slower end, and differs by chance.
Pairs noisy_pairs(const std::vector<double>& rates, double noise, std::mt19937_64& random) {
  std::lognormal_distribution<double> chance(0, noise);
  Pairs pairs;
  for (std::size_t a = 0; a < rates.size(); ++a) {
    pairs.hosts.push_back(std::string("host") + std::to_string(a));
    for (std::size_t b = a + 1; b < rates.size(); ++b) {
      pairs.results.push_back(
          {static_cast<int>(a), static_cast<int>(b), 2e-6, std::min(rates[a], rates[b]) * chance(random)});
    }
  }
  return pairs;
}

std::vector<int> ranks_of(const std::vector<SlowHost>& slow) {
  std::vector<int> ranks;
  for (const auto& host : slow) ranks.push_back(host.rank);
  return ranks;
}

TEST(SlowHosts, are_half_of_them_where_the_hosts_are_two_groups) {
  std::mt19937_64 random(7);
  for (const double slow_rate : {5e9, 7e9}) {
    for (std::size_t hosts = 4; hosts <= 12; ++hosts) {
      for (std::size_t slow = 2; slow + 2 <= hosts; ++slow) {
        std::vector<double> rates(hosts, 10e9);
        std::vector<int> planted;
        for (std::size_t i = 0; i < slow; ++i) {
          rates[hosts - 1 - i] = slow_rate;
          planted.insert(planted.begin(), static_cast<int>(hosts - 1 - i));
        }
        const auto pairs = noisy_pairs(rates, 0.01, random);
        EXPECT_EQ(ranks_of(slow_hosts(pairs)), planted) << slow << " of " << hosts << " at " << slow_rate;
        EXPECT_EQ(host_groups(pairs)->slower, planted);
        EXPECT_NEAR(slow_hosts(pairs)[0].usual, 10e9, 1e9);
        EXPECT_NEAR(slow_hosts(pairs)[0].bandwidth, slow_rate, 0.1 * slow_rate);
      }
    }
  }
}

TEST(SlowHosts, are_named_as_a_group) {
  std::mt19937_64 random(1);
  const auto report = build_report(noisy_pairs({10e9, 5e9, 10e9, 5e9}, 0.01, random));
  std::vector<std::string> said;
  for (const auto& block : report.sections[0].blocks) said.push_back(std::get<Paragraph>(block).text);
  ASSERT_EQ(said.size(), 3U);
  EXPECT_TRUE(said[0].starts_with("host1 (rank 1) is slow: ")) << said[0];
  EXPECT_TRUE(said[1].starts_with("host3 (rank 3) is slow: ")) << said[1];
  EXPECT_EQ(said[2], "The hosts are two groups: 2 of 4 are slower than the others are with each other.");
}

TEST(SlowHosts, are_none_among_equal_ones_however_noisy) {
  std::mt19937_64 random(11);
  int groups = 0, slow = 0;
  for (const double noise : {0.01, 0.03, 0.1, 0.2, 0.4}) {
    for (std::size_t hosts = 3; hosts <= 16; ++hosts) {
      for (int trial = 0; trial < 300; ++trial) {
        const auto pairs = noisy_pairs(std::vector<double>(hosts, 10e9), noise, random);
        groups += host_groups(pairs) ? 1 : 0;
        if (noise <= 0.03) slow += slow_hosts(pairs).empty() ? 0 : 1;
      }
    }
  }
  EXPECT_EQ(groups, 0);
  EXPECT_EQ(slow, 0);
}

TEST(SlowHosts, in_groups_are_not_those_without_a_neighbour_in_the_same_machine) {
  std::mt19937_64 random(3);
  auto pairs = noisy_pairs({10e9, 10e9, 10e9, 10e9, 10e9}, 0.02, random);
  pairs.hosts[1] = pairs.hosts[0];  // two ranks of one host reach each other through memory
  pairs.results[0].bandwidth = 80e9;
  EXPECT_FALSE(host_groups(pairs));
  EXPECT_TRUE(slow_hosts(pairs).empty());
  // Three kinds of hosts are no two groups; nor is one slow host, which the median tells.
  EXPECT_FALSE(host_groups(noisy_pairs({10e9, 10e9, 7e9, 7e9, 5e9, 5e9}, 0.02, random)));
  const auto one = noisy_pairs({10e9, 10e9, 10e9, 10e9, 5e9}, 0.02, random);
  EXPECT_EQ(ranks_of(slow_hosts(one)), std::vector<int>{4});
}

}  // namespace
}  // namespace warpmark::collectives::net
