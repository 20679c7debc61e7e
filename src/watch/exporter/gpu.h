// GPUs under the names of NVIDIA's DCGM exporter, so that its dashboards and alert rules work unchanged
// (github.com/NVIDIA/dcgm-exporter, etc/default-counters.csv, and its labels).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitor/sampler.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Not thread safe.
class GpuLook {
 public:
  GpuLook(monitor::GpuSource source, std::string host);
  /// `monotonic_ns` is the time of this look; rates over NVLink are means since the look before. Takes 20 ms for each
  /// GPU that counts its PCIe traffic, most of them asleep.
  [[nodiscard]] std::vector<Family> families(std::int64_t monotonic_ns);

 private:
  struct Before {
    device::nvml::GpuActivity activity;
    std::int64_t monotonic_ns = 0;
  };
  [[nodiscard]] std::optional<device::nvml::PcieTraffic> traffic(const std::string& uuid) const;

  monitor::GpuSource source_;
  std::string host_;
  std::vector<device::nvml::GpuFacts> gpus_;
  std::map<std::string, Before> before_;
};

}  // namespace warpmark::watch
