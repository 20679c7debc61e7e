// Traffic with each peer over TCP, of connections that are open.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
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
  struct Options {
    bool rates = false;     ///< also means since the look before: for one who looks alone
    bool loopback = false;  ///< loopback is a peer as well
  };
  explicit PeerLook(Options options, Source source = device::tcp_connections)
      : source_(std::move(source)), options_(options) {}
  /// What a connection carried before its first look counts from that look on.
  [[nodiscard]] std::vector<Family> families(std::int64_t monotonic_ns);

 private:
  struct Total {
    double received = 0, sent = 0;
  };
  Source source_;
  Options options_;
  std::vector<TcpConnection> before_;
  std::map<std::string, Total> totals_;  ///< by peer; of those that have connections
  std::int64_t last_ns_ = 0;
};

}  // namespace warpmark::watch
