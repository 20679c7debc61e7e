// Traffic with each peer over TCP, of connections that are open.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/cpu/tcp_connections.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Peers that are told, those with most traffic.
inline constexpr std::size_t kMostPeers = 100;

using device::TcpConnection;

/// Not thread safe.
class PeerLook {
 public:
  using Source = std::function<Result<std::vector<TcpConnection>>()>;
  /// Loopback is told nothing of, unless asked for.
  explicit PeerLook(Source source = device::tcp_connections, bool loopback = false)
      : source_(std::move(source)), loopback_(loopback) {}
  /// Rates are means since the look before. What a connection carried before its first look counts from that look on.
  [[nodiscard]] std::vector<Family> families(std::int64_t monotonic_ns);

 private:
  Source source_;
  bool loopback_;
  std::vector<TcpConnection> before_;
  std::int64_t last_ns_ = 0;
};

}  // namespace warpmark::watch
