// GPUs under the names of NVIDIA's DCGM exporter, so that its dashboards and alert rules work unchanged
// (github.com/NVIDIA/dcgm-exporter, etc/default-counters.csv, and its labels).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitor/gpu_poll.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

class Collected;

/// Not thread safe.
class GpuLook {
 public:
  GpuLook(monitor::GpuSource source, std::string host, monitor::GpuPollOptions options = {})
      : poll_(std::move(source), std::move(options)), host_(std::move(host)) {}
  /// Takes as long as monitor::GpuPoll::look.
  [[nodiscard]] std::vector<Family> families();

 private:
  struct Nvlink {
    std::optional<std::uint64_t> sent, received;
    std::optional<double> sent_rate, received_rate;
    std::int64_t monotonic_ns = 0;
  };
  void add_nvlink_rates(Collected& out, const monitor::GpuReading& gpu, const Labels& labels);

  monitor::GpuPoll poll_;
  std::string host_;
  std::map<std::string, Nvlink> nvlink_;  ///< by GPU, those that are up
};

}  // namespace warpmark::watch
