// What NVIDIA's management library tells about GPUs: state that may disturb a measurement, and settings that limit it.
// The library is loaded at run time (libnvidia-ml.so.1, part of the driver). Nothing here ever changes a setting.
// All functions may be called from any thread; the first call loads and initializes the library. A driver that does not
// answer within 20 s is an environment error, and at once until it does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "device/nvml/gpu_activity.h"

namespace warpmark::device::nvml {

/// Whether the library is there and its initialization worked.
[[nodiscard]] Support available();
/// Whether the driver still owes the answer to a question about no GPU.
[[nodiscard]] bool hangs();

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

/// Environment error for a GPU that is not up.
[[nodiscard]] Result<GpuActivity> activity_of(const std::string& uuid);
/// The same, with a GPU that is not up as data. Environment error only without NVML.
[[nodiscard]] Result<GpuActivity> inspect(const std::string& uuid);

/// Ends NVML and starts it again: only then it sees a driver or GPU that came back. Nobody may ask meanwhile.
[[nodiscard]] Status renew();

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

// A thread for calls into a driver, which may never return: the caller waits until a deadline and goes on without it.

/// Used by one thread at a time.
class VendorThread {
 public:
  VendorThread() = default;
  /// A call that has not returned is left behind: its thread ends when the call does.
  ~VendorThread();
  VendorThread(VendorThread&&) noexcept = default;
  VendorThread& operator=(VendorThread&&) noexcept = default;

  /// Starts the call; there must be none under way. What it captures has to live until it returns, so it owns it.
  /// Environment error if there is no thread to be had.
  [[nodiscard]] Status start(std::function<void()> call);
  [[nodiscard]] bool busy() const;
  /// Waits for the end of the call, at most until this monotonic time. True if none is under way.
  bool wait_until(std::int64_t monotonic_ns);
  /// For how long the call has been under way; 0 if there is none.
  [[nodiscard]] double waiting_s() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace warpmark::device::nvml
