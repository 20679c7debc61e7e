// What the network carries while something runs: rates by interface (InfiniBand ports among them) and by peer host,
// from look to look. TCP only where peers are told: RDMA and NVLink pass the kernel by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "collectives/net/facts.h"
#include "device/cpu/tcp_connections.h"
#include "model/fields/fields_fwd.h"
#include "model/report.h"

namespace warpmark::collectives::net {

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
  [[nodiscard]] std::int64_t looks() const { return looks_; }

 private:
  static void add_to(Sum& sum, double received, double sent, double seconds);
  std::map<std::string, Sum> interfaces_;
  std::map<std::string, Sum> peers_;
  double seconds_ = 0;
  std::int64_t looks_ = 0;
};
extern const RecordOf<TrafficLog> kTrafficLog;

}  // namespace warpmark::collectives::net
