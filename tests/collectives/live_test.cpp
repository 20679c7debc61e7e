// What the network carries from look to look.
#include "collectives/net/live.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "support/fake_tree.h"
#include "support/schema_check.h"

namespace warpmark::collectives::net {
namespace {

device::TcpConnection connection(std::uint64_t cookie, const std::string& peer, std::uint64_t sent,
                                 std::uint64_t received, std::uint64_t retransmits = 0) {
  return {cookie, peer, false, received, sent, "10.0.0.1", retransmits, 1e-3};
}

TEST(PeerTraffic, is_by_host_what_connections_carried_since_the_last_look) {
  const std::vector<device::TcpConnection> before{connection(1, "10.0.0.2", 1000, 0), connection(2, "10.0.0.3", 7, 7),
                                                  connection(3, "10.0.0.4", 5, 5)};
  const std::vector<device::TcpConnection> after{connection(1, "10.0.0.2", 5000, 2000, 3),  // 4000 and 2000 more
                                                 connection(4, "10.0.0.2", 600, 0),         // new: all of it
                                                 connection(2, "10.0.0.3", 7, 7)};  // nothing; and 10.0.0.4 has gone
  const auto traffic = peer_traffic_between(before, after, 2, {{"10.0.0.1", "eth0"}});
  ASSERT_EQ(traffic.size(), 2U);
  EXPECT_EQ(traffic[0].host, "10.0.0.2");
  EXPECT_EQ(traffic[0].interface, "eth0");
  EXPECT_EQ(traffic[0].connections, 2);
  EXPECT_DOUBLE_EQ(traffic[0].sent, 2300);
  EXPECT_DOUBLE_EQ(traffic[0].received, 1000);
  EXPECT_DOUBLE_EQ(traffic[0].retransmits, 1.5);
  EXPECT_DOUBLE_EQ(traffic[1].sent, 0);
  EXPECT_TRUE(peer_traffic_between(before, after, 0).empty());
}

TEST(InfinibandPorts, count_words_of_four_bytes) {
  const test::FakeTree tree;
  const auto port = tree.root() / "mlx5_0" / "ports" / "1";
  std::filesystem::create_directories(port / "counters");
  EXPECT_TRUE(write_file(port / "rate", "400 Gb/sec (4X NDR)\n").ok());
  EXPECT_TRUE(write_file(port / "state", "4: ACTIVE\n").ok());
  EXPECT_TRUE(write_file(port / "counters" / "port_rcv_data", "1000\n").ok());
  EXPECT_TRUE(write_file(port / "counters" / "port_xmit_data", "500\n").ok());
  EXPECT_TRUE(write_file(port / "counters" / "port_xmit_discards", "2\n").ok());
  const auto ports = infiniband_ports(tree.root());
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].name, "mlx5_0/1");
  EXPECT_DOUBLE_EQ(ports[0].speed, 50e9);
  EXPECT_EQ(ports[0].received_bytes, 4000U);
  EXPECT_EQ(ports[0].sent_bytes, 2000U);
  EXPECT_EQ(ports[0].dropped, 2U);
  EXPECT_TRUE(infiniband_ports(tree.root() / "nowhere").empty());
}

TEST(TrafficLog, sums_looks_and_keeps_peaks) {
  TrafficLog log;
  PeerTraffic one{.host = "10.0.0.2", .interface = "eth0", .connections = 1, .received = 10, .sent = 20};
  log.add({{"eth0", 100, 200, 0, 1000}}, {one}, 1);
  one.sent = 60;
  log.add({{"eth0", 300, 0, 1, 1000}}, {one}, 0.5);
  const auto json = log.to_json();
  EXPECT_EQ(testing_support::schema_errors(json, "net_live.schema.json"), "");
  EXPECT_DOUBLE_EQ(json["interfaces"][0]["received"].get<double>(), 250);
  EXPECT_DOUBLE_EQ(json["interfaces"][0]["peak_received"].get<double>(), 300);
  EXPECT_DOUBLE_EQ(json["peers"][0]["sent"].get<double>(), 50);
  EXPECT_EQ(json["polls"], 2);
  EXPECT_EQ(log.report().sections.size(), 2U);
}

}  // namespace
}  // namespace warpmark::collectives::net
