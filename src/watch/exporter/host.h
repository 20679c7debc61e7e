// Processors, memory, pressure, network interfaces and peers of this host, from /proc and the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/cpu/tcp_connections.h"
#include "monitor/procfs.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Bytes since the interface is up.
struct InterfaceBytes {
  double received = 0;
  double sent = 0;
};
/// /proc/net/dev, see proc_pid_net(5).
[[nodiscard]] std::map<std::string, InterfaceBytes> parse_net_dev(std::string_view text);

/// Not thread safe.
class HostSample {
 public:
  /// `root` is that of /proc: "/" but in tests. With `rates` also means since the look before, from the second one on:
  /// for one who looks alone.
  HostSample(const std::filesystem::path& root, bool rates) : proc_(root), rates_(rates) {}
  [[nodiscard]] std::vector<Family> families(std::int64_t monotonic_ns);

 private:
  void add_processors(std::vector<Family>& out);
  void add_memory(std::vector<Family>& out);
  void add_pressure(std::vector<Family>& out);
  void add_interfaces(std::vector<Family>& out, std::int64_t monotonic_ns);

  monitor::ProcFolder proc_;
  bool rates_;
  std::vector<monitor::CpuTicks> cpus_;
  std::map<std::string, InterfaceBytes> interfaces_;
  std::int64_t last_ns_ = 0;
};

/// Peers that are told, those with most traffic.
inline constexpr std::size_t kMostPeers = 100;

using device::TcpConnection;

/// Not thread safe.
class PeerSample {
 public:
  using Source = std::function<Result<std::vector<TcpConnection>>()>;
  struct Options {
    bool rates = false;     ///< also means since the look before: for one who looks alone
    bool loopback = false;  ///< loopback is a peer as well
  };
  explicit PeerSample(Options options, Source source = device::tcp_connections)
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
