// Processors, memory, pressure and network interfaces of this host, from /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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
class HostLook {
 public:
  /// `root` is that of /proc: "/" but in tests. With `rates` also means since the look before, from the second one on:
  /// for one who looks alone.
  HostLook(const std::filesystem::path& root, bool rates) : proc_(root), rates_(rates) {}
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

}  // namespace warpmark::watch
