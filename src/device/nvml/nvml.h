// What NVIDIA's management library tells about GPUs: state that may disturb a measurement, and settings that limit it.
// The library is loaded at run time (libnvidia-ml.so.1, part of the driver). Nothing here ever changes a setting.
// All functions may be called from any thread; the first call loads and initializes the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace warpmark::device::nvml {

/// Whether the library is there and its initialization worked.
[[nodiscard]] Support available();

/// Sensors (value absent where this GPU or driver does not offer it): "sm_clock" Hz, "memory_clock" Hz, "temperature"
/// degC, "power" W, "energy" J (since the driver was loaded), "ecc_corrected" "1" and "ecc_uncorrected" "1" (since the
/// driver was loaded), "utilization" ratio, "memory_used" B (with what the driver reserves). Every set clock event
/// reason is listed (see clock_event_reason_slows). other_processes: compute processes on the GPU except this one.
/// Takes some 3 ms, so it is read around a measurement and not between samples. `uuid` is "GPU-..." or "MIG-...".
/// Environment error if NVML is unavailable or knows no such GPU.
[[nodiscard]] Result<Conditions> conditions_of(const std::string& uuid);

/// The clock event reason of a GPU at its power cap: the normal state under dense work.
inline constexpr const char* kPowerCapReason = "sw_power_cap";

/// False for the reasons that say why the clock is where the owner or the load put it (idle, application clocks,
/// display clocks, sync boost); true for those that hold it down: power, heat, hardware, and any unknown one.
[[nodiscard]] bool clock_event_reason_slows(const std::string& reason);

/// Settings and links of one GPU. An optional without value: this GPU or driver does not tell.
struct GpuFacts {
  int index = 0;
  std::string uuid;
  std::string name;
  std::string pci_bus_id;  ///< "00000000:1B:00.0"
  std::int64_t memory_bytes = 0;
  std::int64_t memory_used_bytes = 0;
  std::optional<double> power_limit_w;  ///< enforced now
  std::optional<double> default_power_limit_w;
  std::optional<bool> ecc_enabled;
  std::optional<bool> mig_enabled;
  std::optional<bool> persistence_enabled;
  std::optional<int> pcie_generation;      ///< now; an idle link may run slower than it can
  std::optional<int> pcie_max_generation;  ///< that GPU and slot support together
  std::optional<int> pcie_width;
  std::optional<int> pcie_max_width;
  std::optional<int> nvlinks;  ///< links that the GPU has
  std::optional<int> nvlinks_active;
  std::optional<int> nvlink_version;  ///< NVML's number, not a product generation
  std::optional<double> max_sm_clock_hz;
  std::optional<double> max_memory_clock_hz;
};
[[nodiscard]] Result<GpuFacts> facts_of(const std::string& uuid);

/// A process that has memory on a GPU, by the number that the driver gives: in a container it may mean nothing.
struct GpuProcess {
  std::int64_t id = 0;
  std::optional<std::int64_t> memory_bytes;
};

/// What a GPU is doing, asked by the cheap questions alone: for looking often. The byte counts only ever grow, until
/// they wrap or the driver is loaded again.
struct GpuActivity {
  std::optional<double> utilization;         ///< ratio of the driver's sample period in which a kernel ran
  std::optional<double> memory_utilization;  ///< ratio of it in which memory was read or written
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<double> energy_j;         ///< since the driver was loaded
  std::optional<double> ecc_corrected;    ///< errors since the driver was loaded
  std::optional<double> ecc_uncorrected;  ///< the same
  std::optional<std::uint64_t> nvlink_sent_bytes;
  std::optional<std::uint64_t> nvlink_received_bytes;
  std::vector<std::string> clock_event_reasons;  ///< every set one (see clock_event_reason_slows)
  std::vector<GpuProcess> processes;             ///< with compute contexts
};
[[nodiscard]] Result<GpuActivity> activity_of(const std::string& uuid);

/// Bytes over PCIe as the GPU counts them, modulo 4 GiB: a link of today wraps that many times a second, so that two
/// readings tell a rate only if they are close.
struct PcieBytes {
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
};
[[nodiscard]] Result<PcieBytes> pcie_bytes_of(const std::string& uuid);

struct PcieTraffic {
  double sent = 0;  ///< B/s
  double received = 0;
};
/// Nothing unless the readings are 1 to 50 ms apart.
[[nodiscard]] std::optional<PcieTraffic> pcie_traffic(const PcieBytes& before, const PcieBytes& now, double elapsed_s);

/// All GPUs in NVML's order (PCI bus order).
[[nodiscard]] Result<std::vector<GpuFacts>> gpu_list();

/// How two GPUs reach one another.
struct GpuLink {
  int a = 0;  ///< indices in gpu_list, a < b
  int b = 0;
  bool nvlink = false;
  std::string path;  ///< "NVLink", or the PCIe path: "same board", "one PCIe switch", "several PCIe switches",
                     ///< "PCIe host bridge", "same NUMA node", "across NUMA nodes", "unknown"
};
[[nodiscard]] Result<std::vector<GpuLink>> topology();

struct Versions {
  std::string driver;  ///< "580.65.06"
  std::string cuda;    ///< newest CUDA the driver supports: "13.0"
};
[[nodiscard]] Result<Versions> versions();

}  // namespace warpmark::device::nvml
