// The questions of nvml.h, asked of a given library: a table of functions, which tests replace by fakes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "device/nvml/api.h"
#include "device/nvml/counters.h"
#include "device/nvml/nvml.h"

namespace warpmark::device::nvml {

/// From where processes are seen.
struct ProcessView {
  std::filesystem::path root = "/";  ///< of /proc
  unsigned own_pid = 0;
};

[[nodiscard]] Result<Conditions> conditions_of(const Api& api, const std::string& uuid, const ProcessView& view);
[[nodiscard]] Result<GpuFacts> facts_of(const Api& api, const std::string& uuid);
/// With `counters`, what they remember of this GPU.
[[nodiscard]] GpuActivity look_at(const Api& api, const std::string& uuid, GpuCounters* counters = nullptr);
[[nodiscard]] Result<GpuActivity> activity_of(const Api& api, const std::string& uuid);
[[nodiscard]] Result<PcieBytes> pcie_bytes_of(const Api& api, const std::string& uuid);
[[nodiscard]] Result<std::vector<GpuFacts>> gpu_list(const Api& api);
[[nodiscard]] Result<std::vector<GpuLink>> topology(const Api& api);
[[nodiscard]] Result<Versions> versions(const Api& api);

[[nodiscard]] GpuFault fault_of(const Api& api, Return code);
[[nodiscard]] std::vector<ProcessInfo> processes_on(const Api& api, Handle gpu);
/// Nothing if the driver has no number for it.
[[nodiscard]] std::optional<std::uint64_t> count_of(const FieldValue& field);

/// Every set bit by name: "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
/// "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting", and
/// "unknown_0x..." for the others.
[[nodiscard]] std::vector<std::string> clock_event_reasons(unsigned long long bits);

}  // namespace warpmark::device::nvml
