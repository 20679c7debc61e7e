#include "watch/exporter/peers.h"

#include <algorithm>

namespace warpmark::watch {
namespace {

struct PeerTraffic {
  double received = 0, sent = 0;  // bytes since the look before
  double connections = 0;
};

}  // namespace

std::vector<Family> PeerLook::families(std::int64_t monotonic_ns) {
  const auto now = source_();
  if (!now.ok()) return {};
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(monotonic_ns - last_ns_) * 1e-9;
  std::map<std::string, PeerTraffic> by_peer;
  std::map<std::uint64_t, TcpConnection> seen;
  for (const auto& connection : *now) {
    if (connection.loopback && !loopback_) continue;
    auto& peer = by_peer[connection.peer];
    ++peer.connections;
    const auto before = before_.find(connection.cookie);
    if (before != before_.end()) {
      peer.received += static_cast<double>(connection.received - before->second.received);
      peer.sent += static_cast<double>(connection.sent - before->second.sent);
    } else if (last_ns_ != 0) {  // opened since
      peer.received += static_cast<double>(connection.received);
      peer.sent += static_cast<double>(connection.sent);
    }
    seen[connection.cookie] = connection;
  }
  before_ = std::move(seen);
  last_ns_ = monotonic_ns;
  std::vector<std::pair<std::string, PeerTraffic>> peers(by_peer.begin(), by_peer.end());
  std::stable_sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
    return a.second.received + a.second.sent > b.second.received + b.second.sent;
  });
  if (peers.size() > kMostPeers) peers.resize(kMostPeers);
  Family received{"warpmark_network_peer_received_bytes_per_second",
                  "Bytes received from the peer over TCP connections that are open, a second since the last scrape.",
                  FamilyType::gauge,
                  {}};
  Family sent{"warpmark_network_peer_sent_bytes_per_second",
              "Bytes that the peer acknowledged over them, a second since the last scrape.",
              FamilyType::gauge,
              {}};
  Family connections{"warpmark_network_peer_connections", "TCP connections with the peer.", FamilyType::gauge, {}};
  for (const auto& [name, traffic] : peers) {
    const Labels labels = {{"peer", name}};
    connections.samples.push_back({labels, traffic.connections});
    if (elapsed_s <= 0) continue;
    received.samples.push_back({labels, traffic.received / elapsed_s});
    sent.samples.push_back({labels, traffic.sent / elapsed_s});
  }
  return {std::move(received), std::move(sent), std::move(connections)};
}

}  // namespace warpmark::watch
