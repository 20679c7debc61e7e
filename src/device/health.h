// The facts and the judgement behind `warpmark doctor`: what will disturb measurements here, and how to fix it. Facts
// are gathered by reading; nothing is ever changed. Judging is pure.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/memory.h"
#include "device/cpu/topology.h"
#include "device/device.h"
#include "device/nvml/nvml.h"
#include "model/health.h"
#include "model/report.h"

namespace warpmark::device {

/// Settings of the operating system; absent or empty where they cannot be read.
struct SystemSettings {
  std::vector<std::string> governors;  ///< in use by the usable CPUs, each once
  std::optional<bool> turbo;
  std::optional<bool> smt_active;
  std::vector<int> isolated_cpus;
  std::string transparent_hugepages;  ///< "always", "madvise", "never"
  std::optional<bool> numa_balancing;
  std::optional<int> address_randomization;  ///< 0 off, 1 partly, 2 fully
  std::optional<int> perf_event_paranoid;
  std::string clock_source;
  std::optional<bool> on_battery;         ///< true while a battery is being drained
  std::optional<double> throttle_events;  ///< thermal, of all usable CPUs, since boot
  bool nvidia_pci_device = false;         ///< a GPU of NVIDIA is on the PCI bus, driver or not
};
[[nodiscard]] SystemSettings read_system_settings(const std::filesystem::path& root, std::span<const int> usable);

struct GpuHealth {
  nvml::GpuFacts facts;
  Conditions now;
  std::string fault;  ///< why it does not answer, as NVML says it; empty: it does
};

struct HealthFacts {
  std::string hypervisor;  ///< empty on bare metal
  std::string container;   ///< empty outside one
  CpuTopology cpu;
  MemoryState memory;
  SystemSettings settings;
  bool invariant_tsc = false;
  std::optional<double> load_average;
  std::optional<double> steal;  ///< share of CPU time during the gathering
  std::optional<double> temperature_c;
  std::optional<double> core_clock_hz;  ///< measured
  Support cuda;                         ///< can GPU workloads run?
  Support cuda_module;                  ///< was libwarpmark_cuda.so found and loaded?
  Support nvml;
  bool nvml_hangs = false;  ///< the driver is there and does not answer
  nvml::Versions versions;
  std::vector<std::pair<std::string, std::string>> cuda_libraries;  ///< name and version, or "not found: ..."
  std::vector<GpuHealth> gpus;
  std::vector<nvml::GpuLink> gpu_links;
  std::vector<int> gpu_numa_nodes;  ///< by index; -1 unknown
};

/// Reads this machine; takes some 0.2 s, and up to a second more where a GPU driver has to start.
[[nodiscard]] HealthFacts gather_health_facts();

/// All judgements: the processor's and the system's first, then per GPU. Pure.
[[nodiscard]] std::vector<HealthCheck> health_checks(const HealthFacts& facts);

/// The two halves of health_checks.
[[nodiscard]] std::vector<HealthCheck> system_checks(const HealthFacts& facts);
[[nodiscard]] std::vector<HealthCheck> gpu_checks(const HealthFacts& facts);

/// GPUs against GPUs with "NVLink" or the PCIe path between them, and the NUMA node of each. No rows without GPUs.
/// Pure.
[[nodiscard]] Table gpu_topology(const HealthFacts& facts);

}  // namespace warpmark::device
