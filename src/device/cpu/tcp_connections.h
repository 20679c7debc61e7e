// TCP connections that are open and what they have carried, as the kernel counts it: sock_diag(7), tcp_info's
// tcpi_bytes_acked and tcpi_bytes_received (RFC 4898's tcpEStatsAppHCThruOctetsAcked and ...Received; Linux 4.1). It
// has no such count for other protocols, and none once a connection is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::device {

/// That are looked at.
inline constexpr std::size_t kMostConnections = 20'000;

struct TcpConnection {
  std::uint64_t cookie = 0;  ///< the kernel's name of the socket, never given again
  std::string peer;          ///< address without port; an IPv4 address also where the socket is of IPv6
  bool loopback = false;
  std::uint64_t received = 0;  ///< bytes since it is open
  std::uint64_t sent = 0;      ///< and acknowledged
  std::string local{};         ///< this side's address
  std::uint64_t retransmits = 0;
  double round_trip_s = 0;  ///< smoothed
};

/// All established connections of this network namespace, those of other users too. Unsupported where the kernel does
/// not tell.
[[nodiscard]] Result<std::vector<TcpConnection>> tcp_connections();

/// All connections with one other host, from one look to the next.
struct PeerBytes {
  std::string peer;   ///< address of the other side
  std::string local;  ///< this side's
  int connections = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t retransmits = 0;  ///< segments
  double round_trip_s = 0;        ///< largest smoothed one
};

/// By bytes, most first. A connection counts what it carried since `before`, a new one all it has; what one carried
/// between the look before and its end is lost. Pure.
[[nodiscard]] std::vector<PeerBytes> peer_bytes_between(const std::vector<TcpConnection>& before,
                                                        const std::vector<TcpConnection>& after);

}  // namespace warpmark::device
