// What the CPU is: cores, caches, NUMA nodes and instruction sets, from /sys/devices/system (Linux
// Documentation/ABI/stable/sysfs-devices-system-cpu) and /proc/cpuinfo, with fallbacks for containers that hide them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/memory.h"
#include "model/machine.h"

namespace warpmark::device {

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
  std::int64_t memory_bytes = 0;
};

struct CpuTopology {
  std::string vendor;
  std::string model;
  int sockets = 1;
  int cores = 1;            ///< physical, online
  int threads = 1;          ///< hardware threads, online
  int usable_threads = 1;   ///< that the affinity mask allows
  int usable_cores = 1;     ///< physical cores among them, cut down to the control group's quota (at least 1)
  std::vector<int> usable;  ///< CPU numbers of the affinity mask
  std::optional<double> quota_cpus;
  std::vector<NumaNode> nodes;
  std::vector<CacheLevel> caches;           ///< data and unified, as the first usable CPU sees them; smallest first
  std::int64_t last_level_cache_bytes = 0;  ///< all instances near a usable CPU
  double max_clock_hz = 0;                  ///< 0 if unknown, as in most virtual machines
  std::vector<std::string> flags;           ///< the kernel's names of all features
  bool hypervisor = false;
};

/// Reads the tree under `root` ("/" outside tests). `usable`: CPUs this process may run on.
[[nodiscard]] CpuTopology read_topology(const std::filesystem::path& root, std::span<const int> usable,
                                        std::optional<double> quota_cpus);

/// This machine and process, with what only the running CPU itself can tell (cpuid, C library) where files are missing.
[[nodiscard]] CpuTopology this_topology();

/// CPUs this process may run on, also after OpenMP has bound the calling thread to one of them.
[[nodiscard]] std::vector<int> usable_cpus();

/// The instruction sets that decide the speed of numeric code, of all features.
[[nodiscard]] std::vector<std::string> numeric_isa(std::span<const std::string> flags);

[[nodiscard]] DeviceInfo cpu_device_info(const CpuTopology& topology, const MemoryState& memory);

/// Of an address as NVML ("00000000:1B:00.0") or CUDA ("0000:1b:00.0") writes it; nothing where it is not told, as in
/// most virtual machines. `devices` is a test's copy, or that of the kernel.
[[nodiscard]] std::optional<int> numa_node_of(const std::string& pci_bus_id,
                                              const std::filesystem::path& devices = "/sys/bus/pci/devices");

/// "0000:1b:00.0", as sysfs names the device; empty for what is no such address.
[[nodiscard]] std::string pci_name(const std::string& pci_bus_id);

}  // namespace warpmark::device
