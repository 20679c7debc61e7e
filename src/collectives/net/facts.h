// The network interfaces of this host and what they carry, from /sys/class/net and /proc/net, and where processes on
// other hosts reach it. For what a measurement went over, and for live traffic while a job runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace warpmark::collectives::net {

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

}  // namespace warpmark::collectives::net
