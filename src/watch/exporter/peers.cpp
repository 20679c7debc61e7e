#include "watch/exporter/peers.h"

#include <utility>

namespace warpmark::watch {

std::vector<Family> PeerLook::families(std::int64_t monotonic_ns) {
  auto found = source_();
  if (!found.ok()) return {};
  if (!options_.loopback) std::erase_if(*found, [](const TcpConnection& one) { return one.loopback; });
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(monotonic_ns - last_ns_) * 1e-9;
  auto peers = device::peer_bytes_between(before_, *found);
  before_ = std::move(*found);
  last_ns_ = monotonic_ns;
  std::map<std::string, Total> totals;
  for (const auto& peer : peers) {
    Total& total = totals[peer.peer] = totals_[peer.peer];
    total.received += static_cast<double>(peer.received);
    total.sent += static_cast<double>(peer.sent);
  }
  totals_ = std::move(totals);
  if (peers.size() > kMostPeers) peers.resize(kMostPeers);
  Family received{"warpmark_network_peer_received_bytes_total",
                  "Bytes received from the peer over TCP, since it has connections.",
                  FamilyType::counter,
                  {}};
  Family sent{"warpmark_network_peer_sent_bytes_total",
              "Bytes that the peer acknowledged over TCP, since it has connections.",
              FamilyType::counter,
              {}};
  Family connections{"warpmark_network_peer_connections", "TCP connections with the peer.", FamilyType::gauge, {}};
  Family in{"warpmark_network_peer_received_bytes_per_second",
            "Bytes received from the peer, a second since the last look.",
            FamilyType::gauge,
            {}};
  Family to{"warpmark_network_peer_sent_bytes_per_second",
            "Bytes that it acknowledged, a second since the last look.",
            FamilyType::gauge,
            {}};
  for (const auto& peer : peers) {
    const Labels labels = {{"peer", peer.peer}};
    connections.samples.push_back({labels, static_cast<double>(peer.connections)});
    received.samples.push_back({labels, totals_[peer.peer].received});
    sent.samples.push_back({labels, totals_[peer.peer].sent});
    if (elapsed_s <= 0) continue;
    in.samples.push_back({labels, static_cast<double>(peer.received) / elapsed_s});
    to.samples.push_back({labels, static_cast<double>(peer.sent) / elapsed_s});
  }
  std::vector<Family> all = {std::move(received), std::move(sent), std::move(connections)};
  if (options_.rates) all.insert(all.end(), {std::move(in), std::move(to)});
  return all;
}

}  // namespace warpmark::watch
