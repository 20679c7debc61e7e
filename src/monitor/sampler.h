// Looks at a machine again and again, and tells what it did in between. Takes well below 1 % of a core: GPUs are asked
// only cheap questions, and where there are so many processes that reading them all would cost more than that, they are
// read less often.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/nvml/nvml.h"
#include "model/machine_state.h"
#include "monitor/procfs.h"

namespace warpmark::monitor {

/// Where GPUs are asked; tests have their own.
struct GpuSource {
  std::function<Result<std::vector<device::nvml::GpuFacts>>()> list;
  std::function<Result<device::nvml::GpuActivity>(const std::string& uuid)> activity;
  std::function<Result<device::nvml::PcieBytes>(const std::string& uuid)> pcie;
};
[[nodiscard]] GpuSource nvml_source();

struct SamplerOptions {
  std::filesystem::path root = "/";  ///< of /proc
  std::string host;
  std::size_t processes = 10;    ///< at most so many beside those that use a GPU; 0 looks at none
  double process_share = 0.004;  ///< of one core's time, that reading the processes may take
};

struct Moment {
  std::int64_t unix_ns = 0;
  std::int64_t monotonic_ns = 0;
};

/// Not thread safe.
class Sampler {
 public:
  Sampler(SamplerOptions options, GpuSource gpus);
  /// Takes 20 ms where there are GPUs that count their PCIe traffic, most of them asleep.
  [[nodiscard]] MachineState sample(const Moment& now);

 private:
  struct KnownProcess {
    std::int64_t ticks = 0;
    std::int64_t started = 0;
    std::string name;
    std::string command;  ///< read when the process is first shown
  };
  struct Gpu {
    device::nvml::GpuFacts facts;
    device::nvml::GpuActivity last;
    std::optional<device::nvml::PcieBytes> pcie;  ///< read at the begin of this look ...
    std::int64_t pcie_ns = 0;                     ///< ... at this time
    bool seen = false;
  };

  /// Readings of the PCIe counters before the rest of a look, which takes some of the time between two of them.
  void begin_traffic();
  [[nodiscard]] std::optional<device::nvml::PcieTraffic> traffic_of(const Gpu& gpu) const;
  void look_at_host(HostState& host);
  void look_at_gpus(MachineState& state, double elapsed_s, std::map<std::int64_t, std::vector<GpuUse>>& users);
  void look_at_processes(std::int64_t monotonic_ns);
  [[nodiscard]] std::vector<ProcessState> shown(std::map<std::int64_t, std::vector<GpuUse>> users);

  SamplerOptions options_;
  GpuSource source_;
  ProcFolder proc_;
  std::vector<Gpu> gpus_;
  std::string gpu_problem_;
  std::vector<CpuTicks> last_cpus_;
  std::int64_t last_ns_ = 0;
  std::int64_t last_processes_ns_ = 0;
  double process_cost_s_ = 0;  ///< CPU time of the last look at the processes
  std::map<std::int64_t, KnownProcess> known_;
  std::vector<ProcessState> processes_;
};

}  // namespace warpmark::monitor
