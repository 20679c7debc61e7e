// Gathering for health.h: reads /proc, /sys, NVML and the CUDA module, and changes nothing.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "device/cpu/conditions.h"
#include "device/cpu/proc.h"
#include "device/cpu/processor.h"
#include "device/cpu/timer.h"
#include "device/cuda/module_api.h"
#include "device/health.h"
#include "device/machine.h"
#include "device/pci_numa.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

std::optional<int> read_int(const fs::path& file) {
  const auto number = leading_number(first_line(file));
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::optional<bool> read_turbo(const fs::path& cpus) {
  if (const auto off = read_int(cpus / "intel_pstate/no_turbo")) return *off == 0;
  if (const auto boost = read_int(cpus / "cpufreq/boost")) return *boost != 0;
  return std::nullopt;
}

/// Whether a battery feeds the machine. A desktop or server has no power_supply entries.
std::optional<bool> read_on_battery(const fs::path& root) {
  std::optional<bool> on_battery;
  for (const auto& supply : entries_of(root / "sys/class/power_supply")) {
    if (first_line(supply / "scope") == "Device") continue;  // a mouse's battery
    const auto type = first_line(supply / "type");
    if (type == "Mains" && read_int(supply / "online") == 1) return false;
    if (type == "Battery") on_battery = on_battery.value_or(false) || first_line(supply / "status") == "Discharging";
  }
  return on_battery;
}

bool has_nvidia_device(const fs::path& root) {
  for (const auto& device : entries_of(root / "sys/bus/pci/devices")) {
    // Class 0x03....: display controllers, compute-only GPUs (0x0302) included.
    if (first_line(device / "vendor") == "0x10de" && first_line(device / "class").starts_with("0x03")) return true;
  }
  return false;
}

std::optional<CpuTimes> cpu_times() {
  return parse_proc_stat(first_line("/proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
}

/// Steal time per CPU time while `seconds` pass.
std::optional<double> measure_steal(double seconds, int threads) {
  const auto before = cpu_times();
  const auto begin_ns = monotonic_ns();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const auto after = cpu_times();
  if (!before || !after) return std::nullopt;
  const double elapsed_s = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  return std::max(0.0, after->steal_s - before->steal_s) / (elapsed_s * threads);
}

void gather_gpus(HealthFacts& facts) {
  facts.cuda = find_in(backends(), "cuda")->available();
  const auto module = cuda_module();
  facts.cuda_module = module.ok() ? Support::yes() : Support::no(module.error().what, module.error().hint);
  if (module.ok()) facts.cuda_libraries = (*module)->libraries();
  facts.nvml = nvml::available();
  facts.nvml_hangs = nvml::hangs();
  if (!facts.nvml.available) return;
  if (auto versions = nvml::versions(); versions.ok()) facts.versions = *std::move(versions);
  auto gpus = nvml::gpu_list();
  if (!gpus.ok()) {
    facts.nvml = Support::no(gpus.error().what, gpus.error().hint);
    facts.nvml_hangs = nvml::hangs();
    return;
  }
  for (auto& gpu : *gpus) {
    const auto look = nvml::look_at(gpu.uuid);
    const std::string fault = !look.ok() ? look.error().what : look->up ? "" : look->fault->text;
    auto now = fault.empty() ? nvml::conditions_of(gpu.uuid) : Conditions{};
    facts.gpu_numa_nodes.push_back(numa_node_of(gpu.pci_bus_id).value_or(-1));
    facts.gpus.push_back({std::move(gpu), now.ok() ? *std::move(now) : Conditions{}, fault});
  }
  if (auto links = nvml::topology(); links.ok()) facts.gpu_links = *std::move(links);
}

}  // namespace

SystemSettings read_system_settings(const fs::path& root, std::span<const int> usable) {
  const auto cpus = root / "sys/devices/system/cpu";
  const auto kernel = root / "proc/sys/kernel";
  SystemSettings settings;
  for (const int cpu : usable) {
    const auto folder = cpus / ("cpu" + std::to_string(cpu));
    const auto governor = first_line(folder / "cpufreq/scaling_governor");
    auto& known = settings.governors;
    if (!governor.empty() && std::find(known.begin(), known.end(), governor) == known.end()) known.push_back(governor);
    if (const auto events = leading_number(first_line(folder / "thermal_throttle/core_throttle_count"))) {
      settings.throttle_events = settings.throttle_events.value_or(0) + *events;
    }
  }
  settings.turbo = read_turbo(cpus);
  if (const auto active = read_int(cpus / "smt/active")) settings.smt_active = *active != 0;
  settings.isolated_cpus = parse_cpu_list(first_line(cpus / "isolated"));
  settings.transparent_hugepages = selected_choice(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  if (const auto balancing = read_int(kernel / "numa_balancing")) settings.numa_balancing = *balancing != 0;
  settings.address_randomization = read_int(kernel / "randomize_va_space");
  settings.perf_event_paranoid = read_int(kernel / "perf_event_paranoid");
  settings.clock_source = first_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  settings.on_battery = read_on_battery(root);
  settings.nvidia_pci_device = has_nvidia_device(root);
  return settings;
}

HealthFacts gather_health_facts() {
  HealthFacts facts;
  facts.hypervisor = this_hypervisor();
  facts.container = read_container("/");
  facts.cpu = this_topology();
  facts.memory = read_memory("/");
  facts.settings = read_system_settings("/", facts.cpu.usable);
  facts.invariant_tsc = has_invariant_tsc();
  facts.load_average = parse_load_average(first_line("/proc/loadavg"));
  facts.steal = measure_steal(0.15, facts.cpu.threads);
  facts.temperature_c = read_cpu_temperature("/");
  facts.core_clock_hz = measure_core_clock();
  gather_gpus(facts);
  return facts;
}

}  // namespace warpmark::device
