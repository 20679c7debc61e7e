// What a machine is doing at one moment: its processors, GPUs and processes. `warpmark monitor` takes, shows and logs
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace warpmark {

inline constexpr const char* kMonitorSchema = "warpmark.monitor/1";

/// Rates are means since the look before, and absent at the first one.
struct HostState {
  std::string name;
  int cpus = 0;
  std::optional<double> utilization;
  std::vector<double> cpu_utilization;
  std::optional<double> load_average;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_used_bytes;
};

/// An optional without value: this GPU or driver does not tell.
struct GpuState {
  int index = 0;
  std::string name;
  std::optional<double> utilization;
  std::optional<double> memory_utilization;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> temperature_c;
  std::optional<double> pcie_sent;  ///< B/s, by the GPU; over 20 ms, as its counters wrap
  std::optional<double> pcie_received;
  std::optional<double> nvlink_sent;
  std::optional<double> nvlink_received;
  std::string problem;
  std::vector<std::string> slowed_by;
};

struct GpuUse {
  int gpu = 0;
  std::optional<std::int64_t> memory_bytes;
};

struct ProcessState {
  std::int64_t id = 0;
  std::string command;
  std::optional<double> cores;
  std::int64_t memory_bytes = 0;
  std::int64_t threads = 0;
  std::vector<GpuUse> gpus;
};

struct MachineState {
  std::int64_t time_ns = 0;
  HostState host;
  std::vector<GpuState> gpus;
  std::vector<ProcessState> processes;
  std::string gpu_problem;
};

/// "warpmark.monitor/1", one document a moment (docs/metrics.md). What is absent has no key.
[[nodiscard]] Json to_json(const MachineState& state);

inline constexpr const char* kMonitorSummarySchema = "warpmark.monitor_summary/1";

/// Of the looks at which a figure was told.
struct Extent {
  std::int64_t polls = 0;  ///< 0: it never was, and the rest says nothing
  double least = 0;
  double mean = 0;
  double most = 0;

  void add(double value) {
    least = polls == 0 ? value : std::min(least, value);
    most = polls == 0 ? value : std::max(most, value);
    ++polls;
    mean += (value - mean) / static_cast<double>(polls);
  }
};

struct GpuSummary {
  int index = 0;
  std::string name;
  double memory_bytes = 0;  ///< that it has; 0 where the driver does not tell
  Extent utilization;
  Extent memory_used;  ///< B; `most` is the peak of the looks
  Extent power;
  Extent sm_clock;
  Extent temperature;  ///< degC
  std::int64_t lost_polls = 0;
  std::string problem;
  std::int64_t slowed_polls = 0;
};

struct MachineSummary {
  std::int64_t polls = 0;
  double seconds = 0;
  Extent host_utilization;
  Extent host_memory_used;
  std::vector<GpuSummary> gpus;
  std::string gpu_problem;  ///< why none is listed, at the last look
};

/// "warpmark.monitor_summary/1" (docs/metrics.md). What was never told has no key.
[[nodiscard]] Json to_json(const MachineSummary& summary);

}  // namespace warpmark
