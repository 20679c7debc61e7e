// What the network carries while something runs: rates by interface (InfiniBand ports among them) and by peer host,
// from look to look. TCP only where peers are told: RDMA and NVLink pass the kernel by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "device/cpu/tcp_connections.h"
#include "model/fields/fields_fwd.h"
#include "model/report.h"

namespace warpmark::collectives::net {

// The network interfaces of this host and what they carry, from /sys/class/net and /proc/net, and where processes on
// other hosts reach it. For what a measurement went over, and for live traffic while a job runs.

struct Interface {
  std::string name;
  std::string state;   ///< "up", "down", "unknown"
  std::string driver;  ///< empty for one without a device, as lo
  int mtu = 0;
  double speed = 0;  ///< B/s; 0 if it does not tell
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t errors = 0;
  std::uint64_t dropped = 0;
};

/// By name. `root` is /sys/class/net, or a test's copy.
[[nodiscard]] std::vector<Interface> interfaces(const std::filesystem::path& root = "/sys/class/net");

/// The interface that has this address; empty if none has.
[[nodiscard]] std::string interface_of(const std::string& address);

/// Bytes between two looks.
struct Traffic {
  std::string name;
  double received = 0;  ///< B/s
  double sent = 0;      ///< B/s
  double errors = 0;    ///< 1/s, drops included
  double speed = 0;     ///< B/s of the interface
};
[[nodiscard]] std::vector<Traffic> traffic_between(const std::vector<Interface>& before,
                                                   const std::vector<Interface>& after, double seconds);

/// Variables that decide which network NCCL and MPI use, and are set.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> network_environment(
    const char* (*environment)(const char* name));

/// IPv4 and global IPv6 addresses of the interfaces that are up, this machine's own (127.0.0.1) last.
[[nodiscard]] std::vector<std::string> own_addresses();

/// All connections with one other host, between two looks.
struct PeerTraffic {
  std::string host;       ///< address of the other side, without its port
  std::string interface;  ///< that has this side's address; empty if none has
  int connections = 0;
  double received = 0;      ///< B/s
  double sent = 0;          ///< B/s
  double retransmits = 0;   ///< 1/s
  double round_trip_s = 0;  ///< largest smoothed one
};

/// device::peer_bytes_between() a second; what a connection carried between the last look and its end is in its
/// interface alone. `interface_of_address` names interfaces. Pure.
[[nodiscard]] std::vector<PeerTraffic> peer_traffic_between(
    const std::vector<device::TcpConnection>& before, const std::vector<device::TcpConnection>& after, double seconds,
    const std::map<std::string, std::string>& interface_of_address = {});

/// InfiniBand and RoCE ports as interfaces ("mlx5_0/1"), whose bytes the kernel's interfaces do not count. `root` is
/// /sys/class/infiniband, or a test's copy.
[[nodiscard]] std::vector<Interface> infiniband_ports(const std::filesystem::path& root = "/sys/class/infiniband");

/// Sums over looks.
class TrafficLog {
 public:
  struct Sum {
    double received = 0;  ///< B
    double sent = 0;
    double peak_received = 0;  ///< B/s, of a look
    double peak_sent = 0;
    double errors = 0;  ///< of interfaces; of peers retransmits
    double speed = 0;   ///< B/s, of interfaces
    double round_trip_s = 0;
    std::string interface;
  };

  void add(const std::vector<Traffic>& interfaces, const std::vector<PeerTraffic>& peers, double seconds);
  [[nodiscard]] Report report() const;
  [[nodiscard]] Json to_json() const;  ///< warpmark.net_live/1
  [[nodiscard]] const std::map<std::string, Sum>& interfaces() const { return interfaces_; }
  [[nodiscard]] const std::map<std::string, Sum>& peers() const { return peers_; }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] std::int64_t polls() const { return polls_; }

 private:
  static void add_to(Sum& sum, double received, double sent, double seconds);
  std::map<std::string, Sum> interfaces_;
  std::map<std::string, Sum> peers_;
  double seconds_ = 0;
  std::int64_t polls_ = 0;
};
extern const RecordOf<TrafficLog> kTrafficLog;

}  // namespace warpmark::collectives::net
