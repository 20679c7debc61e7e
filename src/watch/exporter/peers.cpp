#include "watch/exporter/peers.h"

#include <utility>

namespace warpmark::watch {

std::vector<Family> PeerLook::families(std::int64_t monotonic_ns) {
  auto found = source_();
  if (!found.ok()) return {};
  if (!loopback_) std::erase_if(*found, [](const TcpConnection& one) { return one.loopback; });
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(monotonic_ns - last_ns_) * 1e-9;
  auto peers = device::peer_bytes_between(before_, *found);
  before_ = std::move(*found);
  last_ns_ = monotonic_ns;
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
  for (const auto& peer : peers) {
    const Labels labels = {{"peer", peer.peer}};
    connections.samples.push_back({labels, static_cast<double>(peer.connections)});
    if (elapsed_s <= 0) continue;
    received.samples.push_back({labels, static_cast<double>(peer.received) / elapsed_s});
    sent.samples.push_back({labels, static_cast<double>(peer.sent) / elapsed_s});
  }
  return {std::move(received), std::move(sent), std::move(connections)};
}

}  // namespace warpmark::watch
