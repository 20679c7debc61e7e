// On which NUMA node a PCI device sits, as sysfs tells.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpmark::device {

/// Of an address as NVML ("00000000:1B:00.0") or CUDA ("0000:1b:00.0") writes it; nothing where it is not told, as in
/// most virtual machines. `devices` is a test's copy, or that of the kernel.
[[nodiscard]] std::optional<int> numa_node_of(const std::string& pci_bus_id,
                                              const std::filesystem::path& devices = "/sys/bus/pci/devices");

/// "0000:1b:00.0", as sysfs names the device; empty for what is no such address.
[[nodiscard]] std::string pci_name(const std::string& pci_bus_id);

}  // namespace warpmark::device
