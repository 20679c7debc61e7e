// Judgement on the processor and the operating system. Each function answers one question about the facts; adding one
// is a function and a line in kSystemChecks.
#include "device/health.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "device/cpu/conditions.h"
#include "device/cpu/proc.h"
#include "device/cpu/processor.h"
#include "device/cpu/timer.h"
#include "device/cuda/backend.h"
#include "device/machine.h"

namespace warpmark::device {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

/// The judgement of what was found; title and reason are the same whatever it is.
struct Verdict {
  HealthState state = HealthState::unknown;
  std::string found = "cannot be read here";
  std::string fix = {};
};

std::string on_off(bool on) { return on ? "on" : "off"; }

Verdict judge_governor(const HealthFacts& facts) {
  const auto& governors = facts.settings.governors;
  if (governors.empty()) {
    if (!facts.hypervisor.empty()) return {HealthState::unknown, "hidden by the virtual machine: its host decides"};
    return {};
  }
  const bool steady = governors.size() == 1 && governors.front() == "performance";
  if (steady) return {HealthState::good, "performance"};
  return {HealthState::warning, join(governors, ", "), "sudo cpupower frequency-set -g performance"};
}

Verdict judge_turbo(const HealthFacts& facts) {
  if (!facts.settings.turbo) return {};
  if (!*facts.settings.turbo) return {HealthState::good, "off"};
  return {HealthState::warning, "on",
          "for comparisons: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (Intel), or "
          "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost (others)"};
}

Verdict judge_clock(const HealthFacts& facts) {
  if (!facts.core_clock_hz) return {};
  const double now = *facts.core_clock_hz;
  if (facts.cpu.max_clock_hz <= 0) {
    return {HealthState::info, fmt::format("{:.2f} GHz measured; the maximum is unknown", now / 1e9)};
  }
  const auto found = fmt::format("{:.2f} GHz measured, at most {:.2f} GHz", now / 1e9, facts.cpu.max_clock_hz / 1e9);
  if (now >= 0.7 * facts.cpu.max_clock_hz) return {HealthState::good, found};
  return {HealthState::warning, found, "look at the governor, the temperature and the load of the other cores"};
}

Verdict judge_smt(const HealthFacts& facts) {
  if (!facts.settings.smt_active) return {};
  if (!*facts.settings.smt_active) return {HealthState::good, "off"};
  return {HealthState::warning, fmt::format("on: {} cores, {} hardware threads", facts.cpu.cores, facts.cpu.threads),
          "one thread a core: export OMP_PLACES=cores OMP_PROC_BIND=close; or turn it off: "
          "echo off | sudo tee /sys/devices/system/cpu/smt/control"};
}

Verdict judge_affinity(const HealthFacts& facts) {
  const auto& cpu = facts.cpu;
  const auto& isolated = facts.settings.isolated_cpus;
  auto found = fmt::format("{} of {} CPUs usable: {}", cpu.usable_threads, cpu.threads, cpu_list_text(cpu.usable));
  if (!isolated.empty()) found += "; isolated from other programs: " + cpu_list_text(isolated);
  const bool all_isolated = std::all_of(cpu.usable.begin(), cpu.usable.end(), [&](int id) {
    return std::find(isolated.begin(), isolated.end(), id) != isolated.end();
  });
  if (cpu.usable_threads >= cpu.threads || (all_isolated && !isolated.empty())) return {HealthState::good, found};
  return {HealthState::warning, found, "start without taskset, numactl or a CPU set to measure the whole machine"};
}

Verdict judge_quota(const HealthFacts& facts) {
  const auto& quota = facts.cpu.quota_cpus;
  if (!quota) return {HealthState::good, "none"};
  const auto found = fmt::format("{:.2f} CPUs of {}", *quota, facts.cpu.usable_threads);
  if (*quota >= facts.cpu.usable_threads) return {HealthState::good, found + ": never reached"};
  return {HealthState::bad, found,
          "give whole CPUs: docker run --cpuset-cpus, or equal requests and limits of a static "
          "CPU manager in Kubernetes"};
}

Verdict judge_hypervisor(const HealthFacts& facts) {
  if (facts.hypervisor.empty()) return {HealthState::good, "none"};
  return {HealthState::warning, facts.hypervisor, "measure on bare metal or on a dedicated host where it matters"};
}

Verdict judge_container(const HealthFacts& facts) {
  if (facts.container.empty()) return {HealthState::good, "none"};
  return {HealthState::info, facts.container};
}

Verdict judge_steal(const HealthFacts& facts) {
  if (!facts.steal) return {};
  const auto found = fmt::format("{:.1f} % of the CPU time just now", *facts.steal * 100);
  if (*facts.steal < 0.005) return {HealthState::good, found};
  return {*facts.steal < 0.05 ? HealthState::warning : HealthState::bad, found,
          "move to a dedicated host, or measure when the neighbours are quiet"};
}

Verdict judge_load(const HealthFacts& facts) {
  if (!facts.load_average) return {};
  const double per_cpu = *facts.load_average / std::max(1, facts.cpu.threads);
  const auto found = fmt::format("load average {:.2f} on {} CPUs", *facts.load_average, facts.cpu.threads);
  if (per_cpu < 0.25) return {HealthState::good, found};
  return {per_cpu < 1 ? HealthState::warning : HealthState::bad, found,
          "stop other work (top shows it) and wait a minute"};
}

Verdict judge_memory(const HealthFacts& facts) {
  const auto& memory = facts.memory;
  if (memory.total_bytes <= 0) return {};
  const auto available = static_cast<double>(memory.available_bytes);
  const auto total = static_cast<double>(memory.total_bytes);
  const auto found = fmt::format("{:.1f} of {:.1f} GiB", available / kGiB, total / kGiB);
  if (available >= 0.2 * total) return {HealthState::good, found};
  return {available >= 0.05 * total ? HealthState::warning : HealthState::bad, found,
          "stop programs that hold memory, or choose smaller shapes"};
}

Verdict judge_swap(const HealthFacts& facts) {
  const auto& memory = facts.memory;
  if (memory.swap_total_bytes == 0) return {HealthState::good, "no swap"};
  const auto used = static_cast<double>(memory.swap_used_bytes);
  const auto found =
      fmt::format("{:.1f} of {:.1f} GiB used", used / kGiB, static_cast<double>(memory.swap_total_bytes) / kGiB);
  if (used < 0.01 * static_cast<double>(memory.total_bytes)) return {HealthState::good, found};
  return {HealthState::warning, found, "with enough memory free: sudo swapoff -a && sudo swapon -a"};
}

Verdict judge_hugepages(const HealthFacts& facts) {
  const auto& setting = facts.settings.transparent_hugepages;
  if (setting.empty()) return {};
  if (setting != "never") return {HealthState::good, setting};
  return {HealthState::warning, setting, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

Verdict judge_numa(const HealthFacts& facts) {
  const auto nodes = facts.cpu.nodes.size();
  if (nodes == 0) return {};
  if (nodes == 1) return {HealthState::good, "one node"};
  const auto& balancing = facts.settings.numa_balancing;
  const auto found = fmt::format("{} nodes, automatic balancing {}", nodes, balancing ? on_off(*balancing) : "unknown");
  if (balancing && !*balancing) return {HealthState::good, found};
  return {HealthState::warning, found,
          "echo 0 | sudo tee /proc/sys/kernel/numa_balancing; or bind to one node: numactl -N 0 -m 0 warpmark ..."};
}

Verdict judge_randomization(const HealthFacts& facts) {
  const auto& level = facts.settings.address_randomization;
  if (!level) return {};
  return {*level == 0 ? HealthState::good : HealthState::info, *level == 0 ? "off" : "on"};
}

Verdict judge_counters(const HealthFacts& facts) {
  const auto& level = facts.settings.perf_event_paranoid;
  if (!level) return {};
  const auto found = fmt::format("perf_event_paranoid is {}", *level);
  if (*level <= 2) return {HealthState::good, found};
  return {HealthState::warning, found, "for profiles: sudo sysctl kernel.perf_event_paranoid=2"};
}

Verdict judge_clock_source(const HealthFacts& facts) {
  const auto& source = facts.settings.clock_source;
  if (source.empty()) return {};
  const auto found = source + (facts.invariant_tsc ? ", invariant time stamp counter" : ", no invariant counter");
  const bool fast = source == "tsc" || source == "kvm-clock" || source == "hyperv_clocksource_tsc_page";
  if (fast && facts.invariant_tsc) return {HealthState::good, found};
  return {HealthState::warning, found,
          "look for 'tsc: Marking TSC unstable' in dmesg; use launches long against the timer's resolution"};
}

Verdict judge_power_supply(const HealthFacts& facts) {
  const auto& on_battery = facts.settings.on_battery;
  if (!on_battery) return {HealthState::good, "no battery"};
  if (!*on_battery) return {HealthState::good, "mains"};
  return {HealthState::bad, "battery", "plug it in"};
}

Verdict judge_temperature(const HealthFacts& facts) {
  const auto& celsius = facts.temperature_c;
  const auto& events = facts.settings.throttle_events;
  if (!celsius && !events) return {};
  std::string found = celsius ? fmt::format("{:.0f} degrees C", *celsius) : "temperature unknown";
  if (events) found += fmt::format(", throttled {:.0f} times since boot", *events);
  const double heat = celsius.value_or(0);
  if (heat < 85 && events.value_or(0) == 0) return {HealthState::good, found};
  return {heat < 95 ? HealthState::warning : HealthState::bad, found, "better cooling; pauses between measurements"};
}

struct SystemCheck {
  const char* id;
  const char* title;
  const char* why;
  Verdict (*judge)(const HealthFacts&);
};
constexpr std::array<SystemCheck, 19> kSystemChecks{{
    {"governor", "CPU frequency governor",
     "Other governors than performance follow the load: short measurements run at changing clocks.", judge_governor},
    {"turbo", "Turbo boost", "The clock depends on heat and on how many cores work: results drift.", judge_turbo},
    {"core_clock", "CPU clock", "A core far below its maximum is held down by power, heat or its governor.",
     judge_clock},
    {"smt", "Simultaneous multithreading",
     "Two threads of one core share its units: results depend on where threads land.", judge_smt},
    {"affinity", "Usable CPUs", "Results are those of the allowed CPUs, not of the machine.", judge_affinity},
    {"cpu_quota", "CPU quota",
     "When the quota is used up, all threads stop for the rest of a period (often 100 ms): huge outliers.",
     judge_quota},
    {"hypervisor", "Virtual machine", "The host may run others on our cores and hides its clocks and sensors.",
     judge_hypervisor},
    {"container", "Container", "Its limits count (see quota and memory); some settings can only be changed outside.",
     judge_container},
    {"steal", "Stolen CPU time", "The hypervisor ran other guests while this one wanted to run: times grow.",
     judge_steal},
    {"load", "Other load", "Other programs take cores, caches and memory bandwidth.", judge_load},
    {"memory", "Available memory", "Too little, and large shapes are skipped or the machine swaps.", judge_memory},
    {"swap", "Swap", "Memory that was swapped out comes back in the middle of a measurement.", judge_swap},
    {"hugepages", "Transparent huge pages", "With 4 KiB pages, large arrays lose time in address translation.",
     judge_hugepages},
    {"numa", "NUMA", "Automatic balancing moves pages while we measure; memory of another node is slower.", judge_numa},
    {"aslr", "Address space randomization",
     "Each process gets another layout, which shifts times a little: compare over several processes.",
     judge_randomization},
    {"counters", "Hardware counters", "Does not change times; above 2, profiles lack cache and instruction counts.",
     judge_counters},
    {"clock_source", "Clock source", "Without a steady time stamp counter, reading the clock is slow and coarse.",
     judge_clock_source},
    {"power_supply", "Power supply", "On battery the processor is held to lower clocks.", judge_power_supply},
    {"temperature", "CPU temperature", "A hot processor lowers its clock.", judge_temperature},
}};

HealthCheck judged(const SystemCheck& check, const HealthFacts& facts) {
  Verdict verdict = check.judge(facts);
  return {check.id, check.title, verdict.state, std::move(verdict.found), check.why, std::move(verdict.fix)};
}

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
    const auto probe = nvml::inspect(gpu.uuid);
    const std::string fault = !probe.ok() ? probe.error().what : probe->up ? "" : probe->fault->text;
    auto now = fault.empty() ? nvml::conditions_of(gpu.uuid) : Conditions{};
    facts.gpu_numa_nodes.push_back(numa_node_of(gpu.pci_bus_id).value_or(-1));
    facts.gpus.push_back({std::move(gpu), now.ok() ? *std::move(now) : Conditions{}, fault});
  }
  if (auto links = nvml::topology(); links.ok()) facts.gpu_links = *std::move(links);
}

}  // namespace

std::vector<HealthCheck> system_checks(const HealthFacts& facts) {
  std::vector<HealthCheck> checks;
  for (const auto& check : kSystemChecks) checks.push_back(judged(check, facts));
  return checks;
}

std::vector<HealthCheck> health_checks(const HealthFacts& facts) {
  auto checks = system_checks(facts);
  for (auto& check : gpu_checks(facts)) checks.push_back(std::move(check));
  return checks;
}

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
