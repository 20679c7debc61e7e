// Traffic with each peer over TCP, as the kernel counts it for connections that are open: sock_diag(7), tcp_info's
// tcpi_bytes_acked and tcpi_bytes_received (RFC 4898's tcpEStatsAppHCThruOctetsAcked and ...Received; Linux 4.1). The
// kernel has no such count for other protocols, and none once a connection is closed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Peers that are told, those with most traffic; and connections that are looked at.
inline constexpr std::size_t kMostPeers = 100;
inline constexpr std::size_t kMostConnections = 20'000;

struct TcpConnection {
  std::uint64_t cookie = 0;  ///< the kernel's name of the socket, never given again
  std::string peer;          ///< address without port; an IPv4 address also where the socket is of IPv6
  bool loopback = false;
  std::uint64_t received = 0;  ///< bytes since it is open
  std::uint64_t sent = 0;      ///< and acknowledged
};

/// All established connections of this network namespace, those of other users too. Unsupported where the kernel does
/// not tell.
[[nodiscard]] Result<std::vector<TcpConnection>> tcp_connections();

/// Not thread safe.
class PeerLook {
 public:
  using Source = std::function<Result<std::vector<TcpConnection>>()>;
  /// Loopback is told nothing of, unless asked for.
  explicit PeerLook(Source source = tcp_connections, bool loopback = false)
      : source_(std::move(source)), loopback_(loopback) {}
  /// Rates are means since the look before. What a connection carried before its first look counts from that look on.
  [[nodiscard]] std::vector<Family> families(std::int64_t monotonic_ns);

 private:
  Source source_;
  bool loopback_;
  std::map<std::uint64_t, TcpConnection> before_;
  std::int64_t last_ns_ = 0;
};

}  // namespace warpmark::watch
