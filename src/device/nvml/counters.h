// What needs a memory between two looks at a GPU: its XID errors, and the activity of its units (GPM, GPU performance
// monitoring, Hopper and newer).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/nvml/api.h"
#include "device/nvml/nvml.h"

namespace warpmark::device::nvml {

/// Of one GPU. Not thread safe.
class GpuCounters {
 public:
  /// Fills in xid_errors and unit_activity.
  void read(const Api& api, Handle gpu, GpuActivity& activity);
  /// Of a GPU that does not answer: its XID errors, which tell why, from the events asked for before.
  void read_lost(const Api& api, GpuActivity& activity);
  /// NVML was ended: its objects are gone, and what was counted is not.
  void forget_objects();

 private:
  void read_events(const Api& api, Handle gpu, GpuActivity& activity);
  void count_events(const Api& api);
  void read_units(const Api& api, Handle gpu, GpuActivity& activity);

  EventSet events_ = nullptr;
  bool refused_events_ = false;
  XidErrors xids_;
  GpmSample before_ = nullptr, now_ = nullptr;
  std::int64_t before_ns_ = 0;  ///< 0: there is no sample before
  std::map<GpuUnit, double> units_;
};

// The power that a GPU may draw, and changing that: the one setting of a GPU that warpmark ever changes, where it was
// asked to (`warpmark scale --power-cap-sweep`).

struct PowerLimits {
  double now_w = 0;
  double default_w = 0;
  double least_w = 0;
  double most_w = 0;
};

/// Environment error where the driver does not tell.
[[nodiscard]] Result<PowerLimits> power_limits_of(const std::string& uuid);

/// Environment error where it is not permitted, as for all but root.
[[nodiscard]] Status set_power_limit(const std::string& uuid, double watts);

/// From where processes are seen.
struct ProcessView {
  std::filesystem::path root = "/";  ///< of /proc
  unsigned own_pid = 0;
};

[[nodiscard]] Result<Conditions> conditions_of(const Api& api, const std::string& uuid, const ProcessView& view);
[[nodiscard]] Result<GpuFacts> facts_of(const Api& api, const std::string& uuid);
/// With `counters`, what they remember of this GPU.
[[nodiscard]] GpuActivity inspect(const Api& api, const std::string& uuid, GpuCounters* counters = nullptr);
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
