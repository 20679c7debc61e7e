#include "device/nvml/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files.h"

namespace warpmark::device::nvml {
namespace {

struct ClockEventReason {
  unsigned long long bit;  ///< nvmlClocksEventReasons
  const char* name;
  bool slows;
};
constexpr std::array<ClockEventReason, 9> kClockEventReasons{{
    {0x001, "gpu_idle", false},
    {0x002, "applications_clocks_setting", false},
    {0x004, kPowerCapReason, true},
    {0x008, "hw_slowdown", true},
    {0x010, "sync_boost", false},
    {0x020, "sw_thermal_slowdown", true},
    {0x040, "hw_thermal_slowdown", true},
    {0x080, "hw_power_brake_slowdown", true},
    {0x100, "display_clock_setting", false},
}};

/// Calls a function that the library may lack.
template <typename Function, typename... Arguments>
Return call(Function function, Arguments... arguments) {
  return function == nullptr ? kFunctionNotFound : function(arguments...);
}

/// What a query writes to its last argument, or nothing.
template <typename Value, typename Function, typename... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (call(function, arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

std::optional<double> scaled(std::optional<unsigned> value, double factor) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * factor;
}
std::optional<double> scaled(std::optional<unsigned long long> value, double factor) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * factor;
}
std::optional<int> as_int(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

template <typename Function, typename... Arguments>
std::string ask_text(Function function, Arguments... arguments) {
  std::array<char, 96> text{};  // the longest that NVML documents (names); it writes the final zero
  if (call(function, arguments..., text.data(), static_cast<unsigned>(text.size())) != kSuccess) return "";
  text.back() = '\0';
  return text.data();
}

Result<Handle> find_gpu(const Api& api, const std::string& uuid) {
  Handle handle = nullptr;
  const Return code = call(api.handle_by_uuid, uuid.c_str(), &handle);
  if (code == kSuccess) return handle;
  return environment_error("NVML does not find GPU " + uuid + ": " + fault_of(api, code).text,
                           "check that nvidia-smi -L lists it");
}

std::vector<std::string> other_processes(const Api& api, Handle gpu, const ProcessView& view) {
  const auto processes = processes_on(api, gpu);
  const bool own_seen = std::any_of(processes.begin(), processes.end(),
                                    [&](const ProcessInfo& process) { return process.pid == view.own_pid; });
  // From within a container NVML may name processes by their numbers outside. One number that is unknown here may
  // then be our own.
  bool may_be_own = !own_seen;
  std::vector<std::string> others;
  for (const auto& process : processes) {
    if (process.pid == view.own_pid || process.pid == 0) continue;
    const auto pid = std::to_string(process.pid);
    const auto name = first_line(view.root / "proc" / pid / "comm");
    if (name.empty() && may_be_own) {
      may_be_own = false;
      continue;
    }
    others.push_back(pid + " " + (name.empty() ? "(not visible from here)" : name));
  }
  return others;
}

/// Both fields of a GPU with one call, as each costs a round trip to the driver.
std::array<std::optional<std::uint64_t>, 2> ask_fields(const Api& api, Handle gpu, unsigned first, unsigned second,
                                                       unsigned scope) {
  std::array<FieldValue, 2> fields{};
  fields[0].field = first;
  fields[1].field = second;
  fields[0].scope = fields[1].scope = scope;
  if (call(api.field_values, gpu, static_cast<int>(fields.size()), fields.data()) != kSuccess) return {};
  return {count_of(fields[0]), count_of(fields[1])};
}

/// The GPU's links and how many of them carry traffic.
void read_nvlinks(const Api& api, Handle gpu, GpuFacts& facts) {
  constexpr unsigned kMostLinks = 64;  // 18 on Hopper and Blackwell
  int links = 0, active = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    const auto state = ask<int>(api.nvlink_state, gpu, link);
    if (!state) continue;  // absent links answer "not supported" or "invalid argument"
    ++links;
    if (*state == 0) continue;
    ++active;
    if (!facts.nvlink_version) facts.nvlink_version = as_int(ask<unsigned>(api.nvlink_version, gpu, link));
  }
  if (api.nvlink_state == nullptr) return;
  facts.nvlinks = links;
  facts.nvlinks_active = active;
}

GpuFacts read_facts(const Api& api, Handle gpu) {
  GpuFacts facts;
  facts.index = as_int(ask<unsigned>(api.index, gpu)).value_or(0);
  facts.uuid = ask_text(api.uuid, gpu);
  facts.name = ask_text(api.name, gpu);
  if (const auto pci = ask<PciInfo>(api.pci_info, gpu)) {
    facts.pci_bus_id = std::string(pci->bus_id, std::find(pci->bus_id, pci->bus_id + sizeof(pci->bus_id), '\0'));
  }
  if (const auto memory = ask<Memory>(api.memory, gpu)) {
    facts.memory_bytes = static_cast<std::int64_t>(memory->total);
    facts.memory_used_bytes = static_cast<std::int64_t>(memory->used);
  }
  facts.power_limit_w = scaled(ask<unsigned>(api.power_limit, gpu), 1e-3);
  facts.default_power_limit_w = scaled(ask<unsigned>(api.power_default_limit, gpu), 1e-3);
  int now_signed = 0, later_signed = 0;
  if (call(api.ecc_mode, gpu, &now_signed, &later_signed) == kSuccess) facts.ecc_enabled = now_signed != 0;
  unsigned now = 0, later = 0;
  if (call(api.mig_mode, gpu, &now, &later) == kSuccess) facts.mig_enabled = now != 0;
  if (const auto mode = ask<int>(api.persistence_mode, gpu)) facts.persistence_enabled = *mode != 0;
  facts.pcie_generation = as_int(ask<unsigned>(api.pcie_generation, gpu));
  facts.pcie_max_generation = as_int(ask<unsigned>(api.pcie_max_generation, gpu));
  facts.pcie_width = as_int(ask<unsigned>(api.pcie_width, gpu));
  facts.pcie_max_width = as_int(ask<unsigned>(api.pcie_max_width, gpu));
  facts.max_sm_clock_hz = scaled(ask<unsigned>(api.max_clock, gpu, kClockSm), 1e6);
  facts.max_memory_clock_hz = scaled(ask<unsigned>(api.max_clock, gpu, kClockMemory), 1e6);
  read_nvlinks(api, gpu, facts);
  return facts;
}

Result<std::vector<Handle>> all_gpus(const Api& api) {
  unsigned count = 0;
  if (call(api.device_count, &count) != kSuccess) return environment_error("NVML does not count the GPUs");
  std::vector<Handle> handles;
  for (unsigned i = 0; i < count; ++i) {
    // A GPU that this container or user may not see has an index and no handle.
    if (const auto handle = ask<Handle>(api.handle_by_index, i)) handles.push_back(*handle);
  }
  return handles;
}

/// nvmlGpuTopologyLevel_t.
const char* path_text(std::optional<int> level) {
  if (!level) return "unknown";
  switch (*level) {
    case 0: return "same board";
    case 10: return "one PCIe switch";
    case 20: return "several PCIe switches";
    case 30: return "PCIe host bridge";
    case 40: return "same NUMA node";
    case 50: return "across NUMA nodes";
    default: return "unknown";
  }
}

}  // namespace

std::optional<std::uint64_t> count_of(const FieldValue& field) {
  if (field.code != kSuccess) return std::nullopt;
  if (field.type == kUnsignedInt) return field.value & 0xFFFFFFFFULL;
  if (field.type == kUnsignedLong || field.type == kUnsignedLongLong) return field.value;
  return std::nullopt;
}

std::vector<ProcessInfo> processes_on(const Api& api, Handle gpu) {
  std::vector<ProcessInfo> processes(32);
  // More may start between two calls; after a few tries what fits is enough to say that there are others.
  for (int attempt = 0; attempt < 4; ++attempt) {
    auto count = static_cast<unsigned>(processes.size());
    const Return code = call(api.processes, gpu, &count, processes.data());
    if (code == kSuccess) {
      processes.resize(std::min<std::size_t>(count, processes.size()));
      return processes;
    }
    if (code != kInsufficientSize) return {};
    processes.resize(std::max<std::size_t>(count, processes.size()) + 8);
  }
  return {};
}

std::vector<std::string> clock_event_reasons(unsigned long long bits) {
  std::vector<std::string> names;
  for (const auto& reason : kClockEventReasons) {
    if ((bits & reason.bit) != 0) names.emplace_back(reason.name);
    bits &= ~reason.bit;
  }
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned long long bit = 1ULL << i;
    if ((bits & bit) != 0) names.push_back(fmt::format("unknown_0x{:x}", bit));
  }
  return names;
}

bool clock_event_reason_slows(const std::string& reason) {
  for (const auto& known : kClockEventReasons) {
    if (reason == known.name) return known.slows;
  }
  return true;
}

Result<Conditions> conditions_of(const Api& api, const std::string& uuid, const ProcessView& view) {
  WM_ASSIGN(const Handle gpu, find_gpu(api, uuid));
  const auto ecc = [&](int type) { return scaled(ask<unsigned long long>(api.ecc_errors, gpu, type, kVolatile), 1); };
  const auto memory = ask<Memory>(api.memory, gpu);
  const auto utilization = ask<Utilization>(api.utilization, gpu);
  Conditions conditions;
  conditions.sensors = {
      {"sm_clock", "Hz", scaled(ask<unsigned>(api.clock, gpu, kClockSm), 1e6)},
      {"memory_clock", "Hz", scaled(ask<unsigned>(api.clock, gpu, kClockMemory), 1e6)},
      {"temperature", "degC", scaled(ask<unsigned>(api.temperature, gpu, kTemperatureGpu), 1)},
      {"power", "W", scaled(ask<unsigned>(api.power, gpu), 1e-3)},
      {"energy", "J", scaled(ask<unsigned long long>(api.energy, gpu), 1e-3)},
      {"ecc_corrected", "1", ecc(kCorrected)},
      {"ecc_uncorrected", "1", ecc(kUncorrected)},
      {"utilization", "ratio", utilization ? std::optional(utilization->gpu / 100.0) : std::nullopt},
      {"memory_used", "B", memory ? std::optional(static_cast<double>(memory->used)) : std::nullopt},
  };
  if (const auto bits = ask<unsigned long long>(api.clock_event_reasons, gpu)) {
    conditions.throttle_reasons = clock_event_reasons(*bits);
  }
  conditions.other_processes = other_processes(api, gpu, view);
  return conditions;
}

Result<PcieBytes> pcie_bytes_of(const Api& api, const std::string& uuid) {
  WM_ASSIGN(const Handle gpu, find_gpu(api, uuid));
  const auto [sent, received] = ask_fields(api, gpu, kPcieSentBytes, kPcieReceivedBytes, 0);
  if (!sent || !received) return unsupported_error("this GPU or driver does not count its PCIe traffic");
  return PcieBytes{static_cast<std::uint32_t>(*sent), static_cast<std::uint32_t>(*received)};
}

std::optional<PcieTraffic> pcie_traffic(const PcieBytes& before, const PcieBytes& now, double elapsed_s) {
  constexpr double kShortest_s = 0.001, kLongest_s = 0.05;  // 4 GiB in 50 ms are 86 GB/s, more than PCIe 5 moves
  if (elapsed_s < kShortest_s || elapsed_s > kLongest_s) return std::nullopt;
  return PcieTraffic{static_cast<double>(now.sent - before.sent) / elapsed_s,
                     static_cast<double>(now.received - before.received) / elapsed_s};
}

Result<GpuFacts> facts_of(const Api& api, const std::string& uuid) {
  WM_ASSIGN(const Handle gpu, find_gpu(api, uuid));
  return read_facts(api, gpu);
}

Result<std::vector<GpuFacts>> gpu_list(const Api& api) {
  WM_ASSIGN(const auto handles, all_gpus(api));
  std::vector<GpuFacts> gpus;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    gpus.push_back(read_facts(api, handles[i]));
    gpus.back().index = static_cast<int>(i);
  }
  return gpus;
}

Result<std::vector<GpuLink>> topology(const Api& api) {
  WM_ASSIGN(const auto handles, all_gpus(api));
  std::vector<GpuLink> links;
  for (std::size_t a = 0; a < handles.size(); ++a) {
    for (std::size_t b = a + 1; b < handles.size(); ++b) {
      const auto nvlink = ask<int>(api.p2p_status, handles[a], handles[b], kP2pNvlink);
      GpuLink link{.a = static_cast<int>(a), .b = static_cast<int>(b), .nvlink = nvlink == kP2pOk, .path = "NVLink"};
      if (!link.nvlink) link.path = path_text(ask<int>(api.common_ancestor, handles[a], handles[b]));
      links.push_back(std::move(link));
    }
  }
  return links;
}

Result<Versions> versions(const Api& api) {
  Versions found;
  found.driver = ask_text(api.driver_version);
  if (const auto cuda = ask<int>(api.cuda_driver_version)) {
    found.cuda = std::to_string(*cuda / 1000) + "." + std::to_string(*cuda % 1000 / 10);
  }
  if (found.driver.empty()) return environment_error("NVML does not report the driver's version");
  return found;
}

}  // namespace warpmark::device::nvml
